import { describe, expect, test } from "vitest";
import { nodeRadii } from "../src/graph/style.ts";
import { emptyView, fillView, keysByRank, MAX_NODES, neighbours, nodeIds } from "../src/graph/view.ts";
import { graphAnswer, neighboursAnswer } from "./answers.ts";

function filled(...expansions: Parameters<typeof fillView>[2]) {
  const view = emptyView();
  fillView(view, graphAnswer(["a", "b", "c"], [[0, 1, 5], [0, 2, 9]]), expansions); // biome-ignore format: edges
  return view;
}

describe("a view", () => {
  test("holds the nodes and links of the server's answer", () => {
    const view = filled();
    expect(view.nodes()).toEqual(["a", "b", "c"]);
    expect(view.getEdgeAttribute("a", "b", "weight")).toBe(5);
    expect(nodeIds(view)).toEqual([97, 98, 99]);
  });

  test("adds a neighbourhood with its links to nodes in the view", () => {
    const view = filled(["b", neighboursAnswer(["d", "e"], [["b", "d"], ["e", "a"], ["d", "e"]])]); // biome-ignore format: edges
    expect(view.order).toBe(5);
    expect([view.hasEdge("b", "d"), view.hasEdge("e", "a"), view.hasEdge("d", "e")]).toEqual([true, true, true]);
  });

  test("keeps the positions of its nodes when others join", () => {
    const before = filled();
    const after = filled(["b", neighboursAnswer(["d", "a"], [["b", "d"]])]);
    for (const key of before.nodes()) {
      const { x, y } = after.getNodeAttributes(key);
      expect({ x, y }).toEqual({ x: before.getNodeAttribute(key, "x"), y: before.getNodeAttribute(key, "y") });
    }
  });

  test("puts new nodes at the same positions every time", () => {
    const position = () => filled(["b", neighboursAnswer(["d", "e"], [])]).getNodeAttributes("e");
    expect(position()).toEqual(position());
  });

  test("puts no two nodes at one position", () => {
    const many = Array.from({ length: 40 }, (_, turn) => String.fromCharCode(200 + turn));
    const view = filled(["b", neighboursAnswer(many, [])]);
    const positions = new Set(view.mapNodes((_, { x, y }) => `${x.toFixed(3)} ${y.toFixed(3)}`));
    expect(positions.size).toBe(43);
  });

  test("has no overlapping nodes, even if the server sent one position for all", () => {
    const letters = [..."abcdefghijklmnopqrst"];
    const sent = graphAnswer(letters, []);
    sent.nodes.x = letters.map(() => 3);
    sent.nodes.y = letters.map(() => 4);
    const view = emptyView();
    fillView(view, sent, []);
    const sizes = nodeRadii(view, "score");
    const unit = 1 / 1100;
    for (const one of letters) {
      for (const other of letters.filter((letter) => letter > one)) {
        const [from, to] = [view.getNodeAttributes(one), view.getNodeAttributes(other)];
        const distance = ((sizes.get(one) ?? 0) + (sizes.get(other) ?? 0)) * unit;
        expect(Math.hypot(to.x - from.x, to.y - from.y)).toBeGreaterThan(distance * 0.95);
      }
    }
  });

  test("never holds more nodes than can be drawn", () => {
    const many = Array.from({ length: MAX_NODES + 50 }, (_, turn) => String.fromCharCode(300 + turn));
    expect(filled(["b", neighboursAnswer(many, [])]).order).toBe(MAX_NODES);
  });

  test("lists nodes by rank and neighbours by weight", () => {
    const view = filled();
    expect(keysByRank(view)).toEqual(["a", "b", "c"]);
    expect(neighbours(view, "a", "out")).toEqual([
      { key: "c", weight: 9 },
      { key: "b", weight: 5 },
    ]);
    expect(neighbours(view, "b", "in")).toEqual([{ key: "a", weight: 5 }]);
  });

  test("shows labels with their direction marks made visible", () => {
    const sent = graphAnswer(["a"], []);
    sent.nodes.label = ["safe\u202etxt.exe"];
    const view = emptyView();
    fillView(view, sent, []);
    expect(view.getNodeAttribute("a", "label")).toBe("safe«U+202E»txt.exe");
  });
});
