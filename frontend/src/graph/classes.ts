/** Classes of nodes: the entries of the legend, and their colours. */

import { mixColours } from "./colours.ts";
import type { Colouring } from "./state.ts";
import { communityLabel, type GraphNode, type View } from "./view.ts";

export interface NodeClass {
  id: string; // in the URL of the page while the class is hidden
  name: string;
  colour: string;
  count: number;
}

// Paul Tol's "bright" and "muted" schemes, safe for colour-blind people; the same as in `graph/pictures/palette.py`.
// biome-ignore format: twelve in two rows
const ON_LIGHT = [
  "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
  "#332288", "#999933", "#cc6677", "#44aa99", "#882255", "#117733",
];
// The same with lighter dark tones, for dark pages; also as there.
// biome-ignore format: twelve in two rows
const ON_DARK = [
  "#6ea3dc", "#ff7f8f", "#4fbf63", "#e0d05a", "#7adcf5", "#dd6ab0",
  "#9a8cf0", "#bdbd55", "#e39aa6", "#5fd0bd", "#c9648f", "#63b57c",
];
const OTHERS = { light: "#9a9a9a", dark: "#80858f" };
// Colours by depth, strongest near the start; depths between two steps get mixtures.
const DEPTH = {
  light: ["#3b1f6b", "#3f5fa8", "#2a9d8f", "#8ab84a", "#d9a520"],
  dark: ["#ffe680", "#8fd175", "#41b6c4", "#7a8fe0", "#a67bd6"],
};
const STATUS: Record<string, [string, string, string]> = {
  "2xx": ["Found (2xx)", "#228833", "#4fbf63"],
  "3xx": ["Moved (3xx)", "#4477aa", "#6ea3dc"],
  "4xx": ["Missing (4xx)", "#ee6677", "#ff7f8f"],
  "5xx": ["Server fault (5xx)", "#aa3377", "#dd6ab0"],
};
const LIGHTER = 0.45; // share of white in the colours of the second twelve communities
const DEEPEST = 8; // "8 and more"
const OTHER = "other";
const NONE = "none";

/** Assigns every node of a view to a class. The largest class comes first; depths and statuses stay in order. */
export class Classes {
  readonly list: NodeClass[];
  private readonly of = new Map<string, NodeClass>();

  constructor(view: View, colouring: Colouring, dark: boolean) {
    const ids = new Map(view.mapNodes((key, node) => [key, classId(node, colouring)]));
    const counts = new Map<string, number>();
    for (const id of ids.values()) counts.set(id, (counts.get(id) ?? 0) + 1);
    this.list = withColours(sortIds(counts, colouring), counts, colouring, dark).map((one) =>
      colouring === "community" && isNumber(one.id) ? { ...one, name: communityLabel(view, Number(one.id)) } : one,
    );
    const byId = new Map(this.list.map((one) => [one.id, one]));
    const other = byId.get(OTHER);
    for (const [key, id] of ids) {
      const nodeClass = byId.get(id) ?? other;
      if (nodeClass) this.of.set(key, nodeClass);
    }
  }

  /** Returns the class of a node. */
  get(key: string): NodeClass | undefined {
    return this.of.get(key);
  }
}

function classId(node: GraphNode, colouring: Colouring): string {
  if (colouring === "host") return node.host || NONE;
  if (colouring === "community") return node.community === null ? NONE : String(node.community);
  if (colouring === "depth") return node.depth === null ? NONE : String(Math.min(node.depth, DEEPEST));
  return node.status ? `${Math.floor(node.status / 100)}xx` : NONE;
}

function sortIds(counts: Map<string, number>, colouring: Colouring): string[] {
  const ids = [...counts.keys()].filter((id) => id !== NONE);
  if (colouring === "depth") return ids.sort((one, other) => Number(one) - Number(other));
  if (colouring === "status") return ids.sort();
  return ids.sort((one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || (one < other ? -1 : 1));
}

function withColours(ids: string[], counts: Map<string, number>, colouring: Colouring, dark: boolean): NodeClass[] {
  const grey = dark ? OTHERS.dark : OTHERS.light;
  const own = ids.filter((id, turn) => hasColour(id, turn, colouring));
  const list = own.map((id, turn) => {
    const colour = classColour(id, turn, own.length, colouring, dark) ?? grey;
    return { id, name: nameOf(id, colouring), colour, count: counts.get(id) ?? 0 };
  });
  const shown = new Set(own);
  const rest = ids.reduce((sum, id) => sum + (shown.has(id) ? 0 : (counts.get(id) ?? 0)), 0);
  if (rest) list.push({ id: OTHER, name: "Others", colour: grey, count: rest });
  const none = counts.get(NONE);
  if (none)
    list.push({
      id: NONE,
      name: missingName(colouring),
      colour: mixColours(grey, dark ? "#000000" : "#ffffff", 0.35),
      count: none,
    });
  return list;
}

/** Whether a class has a colour of its own: a big host of the view, a big community of the web. */
function hasColour(id: string, turn: number, colouring: Colouring): boolean {
  if (colouring === "host") return turn < ON_LIGHT.length;
  return colouring !== "community" || Number(id) < 2 * ON_LIGHT.length;
}

function classColour(id: string, turn: number, count: number, colouring: Colouring, dark: boolean): string | undefined {
  if (colouring === "host") return (dark ? ON_DARK : ON_LIGHT)[turn];
  if (colouring === "community") return communityColour(Number(id), dark);
  return scaleColour(id, turn / Math.max(3, count - 1), dark);
}

/** Returns the colour of a community, as `graph/pictures/palette.py` does; undefined for a small one. */
export function communityColour(community: number, dark: boolean): string | undefined {
  const colours = dark ? ON_DARK : ON_LIGHT;
  const colour = colours[community % colours.length];
  if (colour === undefined || community < colours.length) return colour;
  return community < 2 * colours.length ? mixColours(colour, "#ffffff", LIGHTER) : undefined;
}

function isNumber(id: string): boolean {
  return /^\d+$/.test(id);
}

/** Returns the colour of a status, or of a depth at a share (0 to 1) of the scale. */
function scaleColour(id: string, share: number, dark: boolean): string | undefined {
  const status = STATUS[id];
  if (status) return status[dark ? 2 : 1];
  const steps = dark ? DEPTH.dark : DEPTH.light;
  const step = Math.min(Math.floor(share * (steps.length - 1)), steps.length - 2);
  const [from, to] = [steps[step], steps[step + 1]];
  return from && to && mixColours(from, to, share * (steps.length - 1) - step);
}

function nameOf(id: string, colouring: Colouring): string {
  if (colouring === "status") return STATUS[id]?.[0] ?? id;
  if (colouring === "depth") return depthName(Number(id));
  return id;
}

function depthName(depth: number): string {
  if (depth === 0) return "Start";
  return depth === 1 ? "1 click away" : `${depth}${depth === DEEPEST ? " or more" : ""} clicks away`;
}

function missingName(colouring: Colouring): string {
  return { host: "No host", community: "No community", depth: "Not reached", status: "Not visited" }[colouring];
}
