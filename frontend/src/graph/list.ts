/** The nodes of the view as a table: for those who do not see the picture, and to copy from. */

import { button, make } from "../page.ts";
import { counted, seen, tenth } from "../shown.ts";
import type { Level, View } from "./view.ts";
import { byRank } from "./view.ts";

export function fillList(body: HTMLElement, view: View, level: Level, show: (key: string) => void): void {
  const rows = byRank(view).map((key) => {
    const node = view.getNodeAttributes(key);
    const { score, host, depth, status } = node;
    const numbers = [tenth(score), counted(node.in), counted(node.out)];
    return make(
      "tr",
      { "data-key": key },
      make("th", { scope: "row" }, make("a", { href: address(key, level), title: key }, node.label)),
      ...numbers.map((number) => make("td", { class: "num" }, number)),
      make("td", {}, seen(host)),
      ...[depth ?? "", status || ""].map((number) => make("td", { class: "num" }, String(number))),
      make(
        "td",
        {},
        button("Show", () => show(key), { "aria-label": `Show ${node.label} in the picture`, class: "plain" }),
      ),
    );
  });
  body.replaceChildren(...rows);
}

export function markInList(body: HTMLElement, selected: string | null): void {
  for (const row of body.querySelectorAll<HTMLElement>("tr[data-key]")) {
    if (row.dataset.key === selected) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

function address(key: string, level: Level): string {
  if (level === "pages") return `/page?${new URLSearchParams({ url: key })}`;
  return `/graph?${new URLSearchParams({ level: "pages", host: key })}`;
}
