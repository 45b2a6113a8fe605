/**
 * Sorts tables by a click on a column's head. The server sorts too (the heads are links, `?sort=`): this spares the way
 * there and back when all rows are on the page already (`table.sortable:not([data-more])`).
 */

const NUMERIC = new Set(["integer", "number", "time", "flag"]);
const byText = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

for (const table of document.querySelectorAll("table.sortable:not([data-more])")) {
  if (table instanceof HTMLTableElement) makeSortable(table);
}

/** @param {HTMLTableElement} table */
function makeSortable(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  heads.forEach((head, column) => {
    const link = head.querySelector("a");
    if (!link) return;
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(table, column, NUMERIC.has(head.dataset.type ?? ""), descending);
      history.replaceState(null, "", directed(link.href, descending));
    });
  });
}

/**
 * The URL of the same page sorted that way, so that it can be shared.
 * @param {string} href
 * @param {boolean} descending
 */
function directed(href, descending) {
  const url = new URL(href);
  url.searchParams.set("order", descending ? "desc" : "asc");
  return url;
}

/**
 * @param {HTMLTableElement} table
 * @param {number} column
 * @param {boolean} numeric
 * @param {boolean} descending
 */
function sort(table, column, numeric, descending) {
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows].map((row) => ({ row, value: shownIn(row.cells[column]) }));
  const turn = descending ? -1 : 1;
  rows.sort((one, other) => {
    if (one.value === "" || other.value === "") return Number(one.value === "") - Number(other.value === ""); // last, always
    return turn * (numeric ? Number(one.value) - Number(other.value) : byText.compare(one.value, other.value));
  });
  body.append(...rows.map(({ row }) => row));
}

/** @param {HTMLTableCellElement | undefined} cell */
function shownIn(cell) {
  return cell?.dataset.v ?? cell?.textContent?.trim() ?? "";
}
