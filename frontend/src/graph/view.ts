/** The visible part of the link graph, built from the answers of the server. */

import { DirectedGraph } from "graphology";
import { escapeHidden } from "../display.ts";
import { removeOverlaps, spiralPositions } from "./layout.ts";
import { nodeRadii } from "./style.ts";

export type Level = "hosts" | "pages";

/** Nodes as parallel columns, as the server sends them. */
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

/** A community, with the title or the name of its best node. */
export interface NamedCommunity {
  community: number;
  name: string;
}

/** `/api/graph`: edges name nodes by their index. */
export interface GraphAnswer {
  level: Level;
  known: { nodes: number; edges: number };
  unranked: boolean;
  rank_note?: string; // how much of the web the ranks come from, unless they are current
  title: string;
  focus: number | null;
  nodes: NodeColumns;
  edges: EdgeColumns;
  communities: NamedCommunity[];
}

/** `/api/graph/neighbours`: edges name nodes by their id, because some of them are in the view already. */
export interface NeighboursAnswer {
  nodes: NodeColumns;
  edges: EdgeColumns;
  communities: NamedCommunity[];
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

export interface ViewAttributes {
  communityNames: Map<number, string>;
}

export type View = DirectedGraph<GraphNode, GraphEdge, ViewAttributes>;

/** Limit of nodes in a view: more are hard to distinguish and slow to draw. */
export const MAX_NODES = 2000;

export function emptyView(): View {
  return new DirectedGraph<GraphNode, GraphEdge, ViewAttributes>();
}

/** Fills a view with the base answer and its expanded neighbourhoods, in order. */
export function fillView(view: View, base: GraphAnswer, expansions: [string, NeighboursAnswer][]): void {
  view.clear();
  const keys = base.nodes.key;
  keys.forEach((key, row) => {
    view.mergeNode(key, nodeOf(base.nodes, row));
  });
  removeOverlaps(view, nodeRadii(view, "score"));
  addEdges(view, base.edges, (index) => keys[index]);
  for (const [key, answer] of expansions) expandNode(view, key, answer);
  const named = [...expansions.map(([, answer]) => answer), base].flatMap(({ communities }) => communities);
  view.setAttribute("communityNames", new Map(named.map(({ community, name }) => [community, escapeHidden(name)])));
}

/** Returns the number and the name of a community, the same as in pictures and on pages. */
export function communityLabel(view: View, community: number): string {
  const name = view.getAttribute("communityNames")?.get(community);
  return name ? `${community} · ${name}` : `Community ${community}`;
}

/** Adds the neighbours of a node, with positions around it. */
export function expandNode(view: View, key: string, answer: NeighboursAnswer): void {
  const fresh = answer.nodes.key.map((_, row) => row).filter((row) => !view.hasNode(answer.nodes.key[row] ?? ""));
  const free = Math.max(0, MAX_NODES - view.order);
  const positions = spiralPositions(view, key, Math.min(fresh.length, free));
  positions.forEach((position, turn) => {
    const row = fresh[turn] ?? 0;
    view.addNode(answer.nodes.key[row] ?? "", { ...nodeOf(answer.nodes, row), ...position });
  });
  const keys = new Map(view.mapNodes((name, node) => [node.id, name]));
  addEdges(view, answer.edges, (id) => keys.get(id));
}

/** Returns the ids of all nodes. */
export function nodeIds(view: View): number[] {
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
    label: escapeHidden(columns.label[row] || columns.key[row] || ""),
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

/** Returns the keys of the nodes, highest rank first. */
export function keysByRank(view: View): string[] {
  const score = (key: string): number => view.getNodeAttribute(key, "score");
  return view.nodes().sort((one, other) => score(other) - score(one) || (one < other ? -1 : 1));
}

export interface Neighbour {
  key: string;
  weight: number;
}

/** Returns the nodes of the view that link to a node (`in`) or that it links to (`out`), largest weight first. */
export function neighbours(view: View, key: string, direction: "in" | "out"): Neighbour[] {
  const linked: Neighbour[] = [];
  const add = (_: string, edge: GraphEdge, source: string, target: string): void => {
    linked.push({ key: direction === "in" ? source : target, weight: edge.weight });
  };
  if (direction === "in") view.forEachInEdge(key, add);
  else view.forEachOutEdge(key, add);
  const score = (one: Neighbour): number => view.getNodeAttribute(one.key, "score");
  return linked.sort((one, other) => other.weight - one.weight || score(other) - score(one));
}
