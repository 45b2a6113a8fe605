/** The state of the explorer, kept in the URL: a link restores the view, and the back button returns to it. */

import type { Level } from "./view.ts";
import { MAX_NODES } from "./view.ts";

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
  level: Level | null; // null: the server decides
  host: string | null; // only its pages
  focus: string | null; // only the neighbourhood of this node
  hops: number;
  direction: Direction;
  nodes: number;
  colour: Colouring | null; // null: depends on the view
  size: Sizing;
  off: string[]; // hidden classes of the legend
  expanded: string[]; // keys of nodes, in the order of expansion
  selected: string | null;
  camera: Camera | null; // null: shows everything
}

export const DEFAULT_NODES = 300;

export function parseState(query: string): State {
  const given = new URLSearchParams(query);
  return {
    level: oneOf(["hosts", "pages"] as const, given.get("level")),
    host: given.get("host") || null,
    focus: given.get("focus") || null,
    hops: parseInteger(given.get("hops"), 1, 3) ?? 1,
    direction: oneOf(DIRECTIONS, given.get("direction")) ?? "both",
    nodes: parseInteger(given.get("nodes"), 1, MAX_NODES) ?? DEFAULT_NODES,
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
  put("nodes", state.nodes, DEFAULT_NODES);
  put("colour", state.colour);
  put("size", state.size, "score");
  for (const key of state.off) query.append("off", key);
  for (const key of state.expanded) query.append("expanded", key);
  put("selected", state.selected);
  put("x", roundCoordinate(state.camera?.x));
  put("y", roundCoordinate(state.camera?.y));
  put("z", roundCoordinate(state.camera?.ratio));
  return query.toString();
}

/** Returns the parameters of the first request, which decide the base of the view. */
export function baseQuery(state: State): Record<string, string | number | null> {
  const { level, host, focus, nodes } = state;
  return { level, host, focus, nodes, hops: focus ? state.hops : null, direction: focus ? state.direction : null };
}

/** Returns a changed state with another base; expansions, selection and camera do not carry over. */
export function withNewBase(state: State, change: Partial<State>): State {
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

function parseInteger(given: string | null, least: number, most: number): number | null {
  const number = given && /^\d{1,6}$/.test(given) ? Number(given) : Number.NaN;
  return Number.isNaN(number) ? null : Math.min(most, Math.max(least, number));
}

function roundCoordinate(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toFixed(4));
}
