import { describe, expect, test } from "vitest";
import { Classes, communityColour } from "../src/graph/classes.ts";
import { mixColours } from "../src/graph/colours.ts";
import { type Label, placeLabels, truncate } from "../src/graph/labels.ts";
import { edgeWidth, nodeRadii } from "../src/graph/style.ts";
import { emptyView, fillView } from "../src/graph/view.ts";
import { graphAnswer } from "./answers.ts";

const LETTERS = "abcdefghijklmnopqrst";

function view() {
  const filled = emptyView();
  fillView(filled, graphAnswer([...LETTERS], []), []);
  return filled;
}

describe("classes", () => {
  test("give the largest hosts their own colours and the rest a common one", () => {
    const { list } = new Classes(view(), "host", false);
    expect(list).toHaveLength(13);
    expect(list.at(-1)).toMatchObject({ id: "other", count: LETTERS.length - 12 });
    expect(new Set(list.map(({ colour }) => colour)).size).toBe(13);
  });

  test("of communities have the name, the number and the colour of the community", () => {
    const { list } = new Classes(view(), "community", false);
    expect(list.map(({ name }) => name)).toEqual(["0 · Guides", "1 · News"]);
    expect(list.map(({ colour }) => colour)).toEqual([communityColour(0, false), communityColour(1, false)]);
    expect(communityColour(12, false)).not.toBe(communityColour(0, false));
    expect(communityColour(24, true)).toBeUndefined();
  });

  test("of depth are in order, the deepest in one class", () => {
    const { list } = new Classes(view(), "depth", false);
    expect(list.map(({ id }) => id)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(list.at(-1)).toMatchObject({ name: "8 or more clicks away", count: 12 });
  });

  test("of status distinguish found, missing and not visited", () => {
    const classes = new Classes(view(), "status", true);
    expect(classes.get("a")?.id).toBe("2xx");
    expect(classes.get("b")?.name).toBe("Missing (4xx)");
    expect(classes.get("c")?.name).toBe("Not visited");
  });

  test("count every node once", () => {
    for (const colouring of ["host", "community", "depth", "status"] as const) {
      const { list } = new Classes(view(), colouring, false);
      expect(list.reduce((sum, { count }) => sum + count, 0)).toBe(LETTERS.length);
    }
  });
});

describe("sizes", () => {
  test("grow with the rank", () => {
    const sizes = nodeRadii(view(), "score");
    const [first = 0, second = 0, last = 0] = ["a", "b", "t"].map((key) => sizes.get(key));
    expect(first > second && second > last && last > 0).toBe(true);
  });

  test("of links grow with their weight up to a limit", () => {
    expect(edgeWidth(1, 5000)).toBeLessThan(edgeWidth(2, 5000));
    expect(edgeWidth(2, 5000)).toBeLessThan(edgeWidth(100, 5000));
    expect(edgeWidth(1e9, 5000)).toBe(6);
    expect(edgeWidth(1, 50)).toBeGreaterThan(edgeWidth(1, 5000));
  });

  test("mixtures of colours lie between them", () => {
    expect(mixColours("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(mixColours("#abc", "#000000", 0)).toBe("#aabbcc");
  });
});

describe("labels", () => {
  const label = (key: string, x: number, size: number, strong = false): Label => {
    return { key, text: key, x, y: 0, size, strong };
  };
  const width = (text: string, fontSize: number): number => (text.length * fontSize) / 2;

  test("of larger nodes win where labels would overlap", () => {
    const placed = placeLabels([label("small", 0, 2), label("big", 5, 9), label("far", 500, 1)], width);
    expect(placed.map(({ key }) => key)).toEqual(["big", "far"]);
  });

  test("of selected nodes are always drawn", () => {
    const placed = placeLabels([label("big", 0, 9), label("chosen", 2, 1, true)], width);
    expect(placed.map(({ key }) => key)).toEqual(["chosen"]);
  });

  test("are cut, but not within a character", () => {
    expect([...truncate("😀".repeat(60))]).toHaveLength(34);
    expect(truncate("short")).toBe("short");
  });
});
