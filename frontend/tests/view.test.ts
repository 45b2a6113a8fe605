import { describe, expect, test } from "vitest";
import { radii } from "../src/graph/looks.ts";
import { byRank, emptyView, fill, MOST_NODES, neighbours, shownIds } from "../src/graph/view.ts";
import { answer, brought } from "./answers.ts";

function filled(...expansions: Parameters<typeof fill>[2]) {
  const view = emptyView();
  fill(view, answer(["a", "b", "c"], [[0, 1, 5], [0, 2, 9]]), expansions); // biome-ignore format: edges
  return view;
}

describe("a view", () => {
  test("holds the nodes and links of the server's answer", () => {
    const view = filled();
    expect(view.nodes()).toEqual(["a", "b", "c"]);
    expect(view.getEdgeAttribute("a", "b", "weight")).toBe(5);
    expect(shownIds(view)).toEqual([97, 98, 99]);
  });

  test("takes in a neighbourhood with its links to what is shown already", () => {
    const view = filled(["b", brought(["d", "e"], [["b", "d"], ["e", "a"], ["d", "e"]])]); // biome-ignore format: edges
    expect(view.order).toBe(5);
    expect([view.hasEdge("b", "d"), view.hasEdge("e", "a"), view.hasEdge("d", "e")]).toEqual([true, true, true]);
  });

  test("leaves what is shown where it stands when others join", () => {
    const before = filled();
    const after = filled(["b", brought(["d", "a"], [["b", "d"]])]);
    for (const key of before.nodes()) {
      const { x, y } = after.getNodeAttributes(key);
      expect({ x, y }).toEqual({ x: before.getNodeAttribute(key, "x"), y: before.getNodeAttribute(key, "y") });
    }
  });

  test("puts newcomers at the same places every time", () => {
    const place = () => filled(["b", brought(["d", "e"], [])]).getNodeAttributes("e");
    expect(place()).toEqual(place());
  });

  test("puts no two nodes at one place", () => {
    const many = Array.from({ length: 40 }, (_, turn) => String.fromCharCode(200 + turn));
    const view = filled(["b", brought(many, [])]);
    const spots = new Set(view.mapNodes((_, { x, y }) => `${x.toFixed(3)} ${y.toFixed(3)}`));
    expect(spots.size).toBe(43);
  });

  test("has no node under another, even where the server put all of them at one place", () => {
    const letters = [..."abcdefghijklmnopqrst"];
    const told = answer(letters, []);
    told.nodes.x = letters.map(() => 3);
    told.nodes.y = letters.map(() => 4);
    const view = emptyView();
    fill(view, told, []);
    const sizes = radii(view, "score");
    const unit = 1 / 1100;
    for (const one of letters) {
      for (const other of letters.filter((letter) => letter > one)) {
        const [from, to] = [view.getNodeAttributes(one), view.getNodeAttributes(other)];
        const room = ((sizes.get(one) ?? 0) + (sizes.get(other) ?? 0)) * unit;
        expect(Math.hypot(to.x - from.x, to.y - from.y)).toBeGreaterThan(room * 0.95);
      }
    }
  });

  test("never holds more nodes than can be drawn", () => {
    const many = Array.from({ length: MOST_NODES + 50 }, (_, turn) => String.fromCharCode(300 + turn));
    expect(filled(["b", brought(many, [])]).order).toBe(MOST_NODES);
  });

  test("lists nodes by rank and neighbours by weight", () => {
    const view = filled();
    expect(byRank(view)).toEqual(["a", "b", "c"]);
    expect(neighbours(view, "a", "out")).toEqual([
      { key: "c", weight: 9 },
      { key: "b", weight: 5 },
    ]);
    expect(neighbours(view, "b", "in")).toEqual([{ key: "a", weight: 5 }]);
  });

  test("shows labels with their direction marks made visible", () => {
    const told = answer(["a"], []);
    told.nodes.label = ["safe\u202etxt.exe"];
    const view = emptyView();
    fill(view, told, []);
    expect(view.getNodeAttribute("a", "label")).toBe("safe«U+202E»txt.exe");
  });
});
