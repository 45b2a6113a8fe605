import { describe, expect, test } from "vitest";
import { Classes } from "../src/graph/classes.ts";
import { mixed } from "../src/graph/colours.ts";
import { type Label, place, shortened } from "../src/graph/labels.ts";
import { radii, thickness } from "../src/graph/looks.ts";
import { emptyView, fill } from "../src/graph/view.ts";
import { answer } from "./answers.ts";

const LETTERS = "abcdefghijklmnopqrst";

function view() {
  const made = emptyView();
  fill(made, answer([...LETTERS], []), []);
  return made;
}

describe("classes", () => {
  test("give the biggest hosts colours of their own and the rest one together", () => {
    const { list } = new Classes(view(), "host", false);
    expect(list).toHaveLength(13);
    expect(list.at(-1)).toMatchObject({ id: "other", count: LETTERS.length - 12 });
    expect(new Set(list.map(({ colour }) => colour)).size).toBe(13);
  });

  test("of depth stand in order, the deepest together", () => {
    const { list } = new Classes(view(), "depth", false);
    expect(list.map(({ id }) => id)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(list.at(-1)).toMatchObject({ name: "8 or more clicks away", count: 12 });
  });

  test("of status tell found from missing and from not visited", () => {
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
    const sizes = radii(view(), "score");
    const [first = 0, second = 0, last = 0] = ["a", "b", "t"].map((key) => sizes.get(key));
    expect(first > second && second > last && last > 0).toBe(true);
  });

  test("of links grow with their weight, and end", () => {
    expect(thickness(1, 5000)).toBeLessThan(thickness(2, 5000));
    expect(thickness(2, 5000)).toBeLessThan(thickness(100, 5000));
    expect(thickness(1e9, 5000)).toBe(6);
    expect(thickness(1, 50)).toBeGreaterThan(thickness(1, 5000));
  });

  test("mixtures of colours lie between them", () => {
    expect(mixed("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(mixed("#abc", "#000000", 0)).toBe("#aabbcc");
  });
});

describe("labels", () => {
  const label = (key: string, x: number, size: number, strong = false): Label => {
    return { key, text: key, x, y: 0, size, strong };
  };
  const width = (text: string, letters: number): number => (text.length * letters) / 2;

  test("that would overlap give way to those of bigger nodes", () => {
    const placed = place([label("small", 0, 2), label("big", 5, 9), label("far", 500, 1)], width);
    expect(placed.map(({ key }) => key)).toEqual(["big", "far"]);
  });

  test("of what is looked at are always drawn", () => {
    const placed = place([label("big", 0, 9), label("chosen", 2, 1, true)], width);
    expect(placed.map(({ key }) => key)).toEqual(["chosen"]);
  });

  test("are not too long, and not cut within a letter", () => {
    expect([...shortened("😀".repeat(60))]).toHaveLength(34);
    expect(shortened("short")).toBe("short");
  });
});
