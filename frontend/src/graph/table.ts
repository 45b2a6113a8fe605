/** The nodes of the view as a table, for screen readers and for copying. */

import { escapeHidden, formatCount, formatDecimal } from "../display.ts";
import { createButton, createElement } from "../dom.ts";
import { communityColour } from "./classes.ts";
import { pageTheme } from "./style.ts";
import type { Level, View } from "./view.ts";
import { communityLabel, keysByRank } from "./view.ts";

export function fillTable(body: HTMLElement, view: View, level: Level, show: (key: string) => void): void {
  const { dark } = pageTheme();
  const rows = keysByRank(view).map((key) => {
    const node = view.getNodeAttributes(key);
    const { score, host, community, depth, status } = node;
    const numbers = [formatDecimal(score), formatCount(node.in), formatCount(node.out)];
    return createElement(
      "tr",
      { "data-key": key },
      createElement("th", { scope: "row" }, createElement("a", { href: address(key, level), title: key }, node.label)),
      ...numbers.map((number) => createElement("td", { class: "num" }, number)),
      createElement("td", {}, escapeHidden(host)),
      createElement("td", { dir: "auto" }, ...(community === null ? [] : communityCell(view, community, dark))),
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

/** Returns a community with its colour, as in the picture coloured by community. */
function communityCell(view: View, community: number, dark: boolean): (HTMLElement | string)[] {
  const swatch = createElement("span", { class: "graph-swatch", "aria-hidden": "true" });
  swatch.style.backgroundColor = swatch.style.borderColor = communityColour(community, dark) ?? "#888888";
  return [swatch, " ", communityLabel(view, community)];
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
