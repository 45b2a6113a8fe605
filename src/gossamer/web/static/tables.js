/**
 * Comfort for the tables of reports. They work without it: filters, facets, groups and order are links and forms. This
 * script groups at once when a column to group by is chosen, and closes lists of facet values.
 */

const bar = document.querySelector("form.table-bar");
const group = document.querySelector("#group");
if (bar instanceof HTMLFormElement && group) group.addEventListener("change", () => bar.requestSubmit());

// One open list of facet values at a time; Escape or a click elsewhere closes it.
/** @type {NodeListOf<HTMLDetailsElement>} */
const facets = document.querySelectorAll("details.facet");
document.addEventListener("click", ({ target }) => closeFacets(target instanceof Node ? target : null));
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  const open = [...facets].find((facet) => facet.open);
  closeFacets(null);
  open?.querySelector("summary")?.focus();
});

/** @param {Node | null} target */
function closeFacets(target) {
  for (const facet of facets) if (!target || !facet.contains(target)) facet.open = false;
}
