/** The part of the link graph that is shown, and how the server's answers become it. */

import { DirectedGraph } from "graphology";
import { seen } from "../shown.ts";
import { radii } from "./looks.ts";
import { places, untangle } from "./places.ts";

export type Level = "hosts" | "pages";

/** Nodes as columns: what the server sends. */
export interface NodeColumns {
  id: number[];
  key: string[]; // URL, or name of a host
  label: string[];
  x: number[];
  y: number[];
  score: number[]; // 0 to 100
  community: (number | null)[];
  host: string[];
  depth: (number | null)[];
  status: (number | null)[];
  pages: (number | null)[];
  in: number[];
  out: number[];
}

export interface EdgeColumns {
  source: number[];
  target: number[];
  weight: number[];
}

/** `/api/graph`: edges name nodes by their index. */
export interface GraphAnswer {
  level: Level;
  known: { nodes: number; edges: number };
  unranked: boolean;
  title: string;
  focus: number | null;
  nodes: NodeColumns;
  edges: EdgeColumns;
}

/** `/api/graph/neighbours`: edges name nodes by their id, for some of them are shown already. */
export interface NeighboursAnswer {
  nodes: NodeColumns;
  edges: EdgeColumns;
  omitted: number;
}

export interface GraphNode {
  id: number;
  label: string;
  x: number;
  y: number;
  score: number;
  community: number | null;
  host: string;
  depth: number | null;
  status: number | null;
  pages: number | null;
  in: number;
  out: number;
}

export interface GraphEdge {
  weight: number;
}

export type View = DirectedGraph<GraphNode, GraphEdge>;

/** What one view may hold: more cannot be told apart, nor be moved smoothly. */
export const MOST_NODES = 2000;

export function emptyView(): View {
  return new DirectedGraph<GraphNode, GraphEdge>();
}

/** Fills a view with a base answer and the neighbourhoods that were expanded in it, in order. */
export function fill(view: View, base: GraphAnswer, expansions: [string, NeighboursAnswer][]): void {
  view.clear();
  const keys = base.nodes.key;
  keys.forEach((key, row) => {
    view.mergeNode(key, nodeOf(base.nodes, row));
  });
  untangle(view, radii(view, "score"));
  addEdges(view, base.edges, (index) => keys[index]);
  for (const [key, answer] of expansions) expand(view, key, answer);
}

/** Adds a node's neighbourhood, with places around it. */
export function expand(view: View, key: string, answer: NeighboursAnswer): void {
  const fresh = answer.nodes.key.map((_, row) => row).filter((row) => !view.hasNode(answer.nodes.key[row] ?? ""));
  const room = Math.max(0, MOST_NODES - view.order);
  const spots = places(view, key, Math.min(fresh.length, room));
  spots.forEach((spot, turn) => {
    const row = fresh[turn] ?? 0;
    view.addNode(answer.nodes.key[row] ?? "", { ...nodeOf(answer.nodes, row), ...spot });
  });
  const keys = new Map(view.mapNodes((name, node) => [node.id, name]));
  addEdges(view, answer.edges, (id) => keys.get(id));
}

/** The ids of all nodes that are shown. */
export function shownIds(view: View): number[] {
  return view.mapNodes((_, node) => node.id);
}

function addEdges(view: View, edges: EdgeColumns, key: (end: number) => string | undefined): void {
  edges.source.forEach((start, row) => {
    const source = key(start);
    const target = key(edges.target[row] ?? -1);
    if (source === undefined || target === undefined || source === target) return;
    if (view.hasNode(source) && view.hasNode(target)) {
      view.mergeEdge(source, target, { weight: edges.weight[row] ?? 1 });
    }
  });
}

function nodeOf(columns: NodeColumns, row: number): GraphNode {
  return {
    id: columns.id[row] ?? -1,
    label: seen(columns.label[row] || columns.key[row] || ""),
    x: columns.x[row] ?? 0,
    y: columns.y[row] ?? 0,
    score: columns.score[row] ?? 0,
    community: columns.community[row] ?? null,
    host: columns.host[row] ?? "",
    depth: columns.depth[row] ?? null,
    status: columns.status[row] ?? null,
    pages: columns.pages[row] ?? null,
    in: columns.in[row] ?? 0,
    out: columns.out[row] ?? 0,
  };
}

/** The keys of the nodes, the most important first. */
export function byRank(view: View): string[] {
  const score = (key: string): number => view.getNodeAttribute(key, "score");
  return view.nodes().sort((one, other) => score(other) - score(one) || (one < other ? -1 : 1));
}

export interface Neighbour {
  key: string;
  weight: number;
}

/** What links to a node in this view (`in`), or is linked from it (`out`), the strongest bonds first. */
export function neighbours(view: View, key: string, direction: "in" | "out"): Neighbour[] {
  const found: Neighbour[] = [];
  const take = (_: string, edge: GraphEdge, source: string, target: string): void => {
    found.push({ key: direction === "in" ? source : target, weight: edge.weight });
  };
  if (direction === "in") view.forEachInEdge(key, take);
  else view.forEachOutEdge(key, take);
  const score = (one: Neighbour): number => view.getNodeAttribute(one.key, "score");
  return found.sort((one, other) => other.weight - one.weight || score(other) - score(one));
}
