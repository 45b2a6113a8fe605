/** What is known of the selected node, where it leads, and what can be done with it. */

import { button, make } from "../page.ts";
import { counted, seen, tenth } from "../shown.ts";
import type { Level, Neighbour, View } from "./view.ts";
import { neighbours } from "./view.ts";

const LISTED = 8;

export interface Deeds {
  expand: (key: string) => void;
  focus: (key: string) => void;
  select: (key: string | null) => void;
}

export interface Selection {
  key: string;
  level: Level;
  expanded: boolean;
}

export function fillPanel(box: HTMLElement, view: View, selection: Selection, deeds: Deeds): void {
  const { key, level, expanded } = selection;
  const node = view.getNodeAttributes(key);
  const facts: [string, string | null][] = [
    ["Rank", `${tenth(node.score)} of 100`],
    ["Linked from", counted(node.in)],
    ["Links to", counted(node.out)],
    ["Pages", node.pages === null ? null : counted(node.pages)],
    ["Clicks away", node.depth === null ? null : String(node.depth)],
    ["Status", node.status ? String(node.status) : null],
    ["Community", node.community === null ? null : String(node.community + 1)],
  ];
  box.replaceChildren(
    make("h2", { class: "graph-name" }, node.label),
    address(key, level),
    make("dl", { class: "graph-facts" }, ...facts.flatMap(([name, value]) => fact(name, value))),
    make(
      "p",
      { class: "graph-deeds" },
      button("Expand", () => deeds.expand(key), { disabled: expanded, id: "expand" }),
      button("Only its surroundings", () => deeds.focus(key), { id: "surroundings", class: "plain" }),
      button("Close", () => deeds.select(null), { "aria-label": "Close the details", class: "plain" }),
    ),
    ...list("Linked from", neighbours(view, key, "in"), view, deeds),
    ...list("Links to", neighbours(view, key, "out"), view, deeds),
  );
}

function address(key: string, level: Level): HTMLElement {
  if (level === "pages")
    return make("p", {}, make("a", { href: `/page?${new URLSearchParams({ url: key })}`, dir: "auto" }, seen(key)));
  const query = new URLSearchParams({ level: "pages", host: key });
  return make("p", {}, make("a", { href: `/graph?${query}` }, `Graph of the pages of ${seen(key)}`));
}

function fact(name: string, value: string | null): HTMLElement[] {
  return value === null ? [] : [make("dt", {}, name), make("dd", {}, value)];
}

function list(title: string, found: Neighbour[], view: View, deeds: Deeds): HTMLElement[] {
  if (found.length === 0) return [];
  const items = found.slice(0, LISTED).map(({ key, weight }) => {
    const name = button(view.getNodeAttribute(key, "label"), () => deeds.select(key), {
      class: "graph-link",
      title: key,
    });
    return make("li", {}, name, make("span", { class: "graph-count" }, weight > 1 ? `×${counted(weight)}` : ""));
  });
  const more = found.length > LISTED ? ` (${LISTED} of ${counted(found.length)} here)` : " (here)";
  return [make("h3", {}, title, make("small", {}, more)), make("ul", { class: "graph-neighbours" }, ...items)];
}
