/**
 * Sorts tables by a click on a column head. The heads are links to the server, which sorts too (`?sort=`). This script
 * saves the request when all rows are on the page already (`table.sortable:not([data-more])`).
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
      history.replaceState(null, "", withOrder(link.href, descending));
    });
  });
}

/**
 * Returns the URL of the page in this order, for sharing.
 * @param {string} href
 * @param {boolean} descending
 */
function withOrder(href, descending) {
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
  const rows = [...body.rows].map((row) => ({ row, value: cellValue(row.cells[column]) }));
  const sign = descending ? -1 : 1;
  rows.sort((one, other) => {
    if (one.value === "" || other.value === "") return Number(one.value === "") - Number(other.value === ""); // empty cells last in both orders
    return sign * (numeric ? Number(one.value) - Number(other.value) : byText.compare(one.value, other.value));
  });
  body.append(...rows.map(({ row }) => row));
}

/** @param {HTMLTableCellElement | undefined} cell */
function cellValue(cell) {
  return cell?.dataset.v ?? cell?.textContent?.trim() ?? "";
}
