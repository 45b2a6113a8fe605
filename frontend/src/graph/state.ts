/** What is looked at, as the page's URL says it: a link to a view shows that view, and the back button goes back to it. */

import type { Level } from "./view.ts";
import { MOST_NODES } from "./view.ts";

export const COLOURINGS = ["host", "community", "depth", "status"] as const;
export const SIZINGS = ["score", "in", "out"] as const;
export const DIRECTIONS = ["both", "in", "out"] as const;
export type Colouring = (typeof COLOURINGS)[number];
export type Sizing = (typeof SIZINGS)[number];
export type Direction = (typeof DIRECTIONS)[number];

export interface Camera {
  x: number;
  y: number;
  ratio: number;
}

export interface State {
  level: Level | null; // null: what the server thinks best
  host: string | null; // only its pages
  focus: string | null; // only what is near this node
  hops: number;
  direction: Direction;
  nodes: number;
  colour: Colouring | null; // null: what suits the view
  size: Sizing;
  off: string[]; // classes of the legend that are hidden
  expanded: string[]; // keys of nodes, in the order of their expansion
  selected: string | null;
  camera: Camera | null; // null: everything in sight
}

export const NODES = 300;

export function parseState(query: string): State {
  const given = new URLSearchParams(query);
  return {
    level: oneOf(["hosts", "pages"] as const, given.get("level")),
    host: given.get("host") || null,
    focus: given.get("focus") || null,
    hops: whole(given.get("hops"), 1, 3) ?? 1,
    direction: oneOf(DIRECTIONS, given.get("direction")) ?? "both",
    nodes: whole(given.get("nodes"), 1, MOST_NODES) ?? NODES,
    colour: oneOf(COLOURINGS, given.get("colour")),
    size: oneOf(SIZINGS, given.get("size")) ?? "score",
    off: given.getAll("off"),
    expanded: given.getAll("expanded"),
    selected: given.get("selected") || null,
    camera: parseCamera(given),
  };
}

export function formatState(state: State): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string | number | null, usual: string | number | null = null): void => {
    if (value !== null && value !== usual) query.set(name, String(value));
  };
  put("level", state.level);
  put("host", state.host);
  put("focus", state.focus);
  put("hops", state.hops, 1);
  put("direction", state.direction, "both");
  put("nodes", state.nodes, NODES);
  put("colour", state.colour);
  put("size", state.size, "score");
  for (const key of state.off) query.append("off", key);
  for (const key of state.expanded) query.append("expanded", key);
  put("selected", state.selected);
  put("x", rounded(state.camera?.x));
  put("y", rounded(state.camera?.y));
  put("z", rounded(state.camera?.ratio));
  return query.toString();
}

/** The part of a state that decides which nodes the server sends first. */
export function baseOf(state: State): Record<string, string | number | null> {
  const { level, host, focus, nodes } = state;
  return { level, host, focus, nodes, hops: focus ? state.hops : null, direction: focus ? state.direction : null };
}

/** The same place seen afresh: another base keeps neither expansions nor the camera. */
export function anew(state: State, change: Partial<State>): State {
  return { ...state, off: [], expanded: [], selected: null, camera: null, ...change };
}

function parseCamera(given: URLSearchParams): Camera | null {
  const [x, y, ratio] = ["x", "y", "z"].map((name) => {
    const text = given.get(name);
    return text ? Number(text) : Number.NaN;
  });
  if (x === undefined || y === undefined || ratio === undefined) return null;
  return [x, y, ratio].every(Number.isFinite) && ratio > 0 ? { x, y, ratio } : null;
}

function oneOf<Word extends string>(words: readonly Word[], given: string | null): Word | null {
  return words.find((word) => word === given) ?? null;
}

function whole(given: string | null, least: number, most: number): number | null {
  const number = given && /^\d{1,6}$/.test(given) ? Number(given) : Number.NaN;
  return Number.isNaN(number) ? null : Math.min(most, Math.max(least, number));
}

function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toFixed(4));
}
