/** The nodes of the view as a table, for screen readers and for copying. */

import { escapeHidden, formatCount, formatDecimal } from "../display.ts";
import { createButton, createElement } from "../dom.ts";
import type { Level, View } from "./view.ts";
import { keysByRank } from "./view.ts";

export function fillTable(body: HTMLElement, view: View, level: Level, show: (key: string) => void): void {
  const rows = keysByRank(view).map((key) => {
    const node = view.getNodeAttributes(key);
    const { score, host, depth, status } = node;
    const numbers = [formatDecimal(score), formatCount(node.in), formatCount(node.out)];
    return createElement(
      "tr",
      { "data-key": key },
      createElement("th", { scope: "row" }, createElement("a", { href: address(key, level), title: key }, node.label)),
      ...numbers.map((number) => createElement("td", { class: "num" }, number)),
      createElement("td", {}, escapeHidden(host)),
      ...[depth ?? "", status || ""].map((number) => createElement("td", { class: "num" }, String(number))),
      createElement(
        "td",
        {},
        createButton("Show", () => show(key), { "aria-label": `Show ${node.label} in the picture`, class: "plain" }),
      ),
    );
  });
  body.replaceChildren(...rows);
}

export function markTableRow(body: HTMLElement, selected: string | null): void {
  for (const row of body.querySelectorAll<HTMLElement>("tr[data-key]")) {
    if (row.dataset.key === selected) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

function address(key: string, level: Level): string {
  if (level === "pages") return `/page?${new URLSearchParams({ url: key })}`;
  return `/graph?${new URLSearchParams({ level: "pages", host: key })}`;
}
