/** The panel of the selected node: its attributes, its neighbours and its actions. */

import { escapeHidden, formatCount, formatDecimal } from "../display.ts";
import { createButton, createElement } from "../dom.ts";
import type { Level, Neighbour, View } from "./view.ts";
import { communityLabel, neighbours } from "./view.ts";

const MAX_LISTED = 8; // neighbours in each neighbourList

export interface PanelActions {
  expand: (key: string) => void;
  focus: (key: string) => void;
  select: (key: string | null) => void;
}

export interface Selection {
  key: string;
  level: Level;
  expanded: boolean;
}

export function fillPanel(box: HTMLElement, view: View, selection: Selection, actions: PanelActions): void {
  const { key, level, expanded } = selection;
  const node = view.getNodeAttributes(key);
  const facts: [string, string | null][] = [
    ["Rank", `${formatDecimal(node.score)} of 100`],
    ["Linked from", formatCount(node.in)],
    ["Links to", formatCount(node.out)],
    ["Pages", node.pages === null ? null : formatCount(node.pages)],
    ["Clicks away", node.depth === null ? null : String(node.depth)],
    ["Status", node.status ? String(node.status) : null],
    ["Community", node.community === null ? null : communityLabel(view, node.community)],
  ];
  box.replaceChildren(
    createElement("h2", { class: "graph-name" }, node.label),
    address(key, level),
    createElement("dl", { class: "graph-facts" }, ...facts.flatMap(([name, value]) => fact(name, value))),
    createElement(
      "p",
      { class: "graph-actions" },
      createButton("Expand", () => actions.expand(key), { disabled: expanded, id: "expand" }),
      createButton("Only its surroundings", () => actions.focus(key), { id: "surroundings", class: "plain" }),
      createButton("Close", () => actions.select(null), { "aria-label": "Close the details", class: "plain" }),
    ),
    ...neighbourList("Linked from", neighbours(view, key, "in"), view, actions),
    ...neighbourList("Links to", neighbours(view, key, "out"), view, actions),
  );
}

function address(key: string, level: Level): HTMLElement {
  if (level === "pages")
    return createElement(
      "p",
      {},
      createElement("a", { href: `/page?${new URLSearchParams({ url: key })}`, dir: "auto" }, escapeHidden(key)),
    );
  const query = new URLSearchParams({ level: "pages", host: key });
  return createElement(
    "p",
    {},
    createElement("a", { href: `/graph?${query}` }, `Graph of the pages of ${escapeHidden(key)}`),
  );
}

function fact(name: string, value: string | null): HTMLElement[] {
  return value === null ? [] : [createElement("dt", {}, name), createElement("dd", {}, value)];
}

function neighbourList(title: string, linked: Neighbour[], view: View, actions: PanelActions): HTMLElement[] {
  if (linked.length === 0) return [];
  const items = linked.slice(0, MAX_LISTED).map(({ key, weight }) => {
    const name = createButton(view.getNodeAttribute(key, "label"), () => actions.select(key), {
      class: "graph-link",
      title: key,
    });
    return createElement(
      "li",
      {},
      name,
      createElement("span", { class: "graph-count" }, weight > 1 ? `×${formatCount(weight)}` : ""),
    );
  });
  const more = linked.length > MAX_LISTED ? ` (${MAX_LISTED} of ${formatCount(linked.length)} here)` : " (here)";
  return [
    createElement("h3", {}, title, createElement("small", {}, more)),
    createElement("ul", { class: "graph-neighbours" }, ...items),
  ];
}
