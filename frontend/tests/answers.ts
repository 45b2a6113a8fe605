/** Small answers of the server, for tests of the explorer. */

import type { GraphAnswer, NeighboursAnswer, NodeColumns } from "../src/graph/view.ts";

export function columns(keys: string[]): NodeColumns {
  const each = <Value>(value: (turn: number) => Value): Value[] => keys.map((_, turn) => value(turn));
  return {
    id: keys.map((key) => key.charCodeAt(0)),
    key: keys,
    label: keys.map((key) => key.toUpperCase()),
    x: each((turn) => turn * 10),
    y: each((turn) => (turn % 2) * 10),
    score: each((turn) => 100 - turn),
    community: each((turn) => turn % 2),
    host: keys.map((key) => `${key}.example`),
    depth: each((turn) => turn),
    status: each((turn) => [200, 404, 0, 301][turn % 4] ?? null),
    pages: each(() => null),
    in: each((turn) => turn),
    out: each((turn) => turn),
  };
}

export function graphAnswer(keys: string[], edges: [number, number, number][]): GraphAnswer {
  return {
    level: "pages",
    known: { nodes: 1000, edges: 5000 },
    unranked: false,
    title: "",
    focus: null,
    nodes: columns(keys),
    edges: {
      source: edges.map(([source]) => source),
      target: edges.map(([, target]) => target),
      weight: edges.map(([, , weight]) => weight),
    },
    communities: [
      { community: 0, name: "Guides" },
      { community: 1, name: "News" },
    ],
  };
}

/** Edges name nodes by id; here an id is the code of the first letter of the key. */
export function neighboursAnswer(keys: string[], edges: [string, string][]): NeighboursAnswer {
  return {
    nodes: columns(keys),
    edges: {
      source: edges.map(([source]) => source.charCodeAt(0)),
      target: edges.map(([, target]) => target.charCodeAt(0)),
      weight: edges.map(() => 1),
    },
    communities: [],
    omitted: 0,
  };
}
