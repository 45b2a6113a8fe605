import { describe, expect, test } from "vitest";
import { baseQuery, formatState, parseState, type State, withNewBase } from "../src/graph/state.ts";

const full: State = {
  level: "pages",
  host: "docs.example.org",
  focus: "https://docs.example.org/a?b=c&d",
  hops: 2,
  direction: "in",
  nodes: 150,
  colour: "depth",
  size: "out",
  off: ["3", "none"],
  expanded: ["https://docs.example.org/x,y", "https://docs.example.org/ä"],
  selected: "https://docs.example.org/x,y",
  camera: { x: 0.25, y: -0.5, ratio: 0.125 },
};

describe("the state in the URL", () => {
  test("survives a round trip", () => {
    expect(parseState(formatState(full))).toEqual(full);
  });

  test("is empty for the first view", () => {
    expect(formatState(parseState(""))).toBe("");
  });

  test.each([
    ["nodes=99999", "nodes", 2000],
    ["nodes=-5", "nodes", 300],
    ["hops=9", "hops", 3],
    ["level=galaxies", "level", null],
    ["colour=red", "colour", null],
    ["x=0&y=NaN&z=1", "camera", null],
    ["x=0&y=0&z=-1", "camera", null],
    ["x=0&y=0", "camera", null],
  ] as const)("falls back to a default for %s", (query, name, value) => {
    expect(parseState(query)[name]).toEqual(value);
  });

  test("asks the server for hops and direction only around a node", () => {
    expect(baseQuery({ ...full, focus: null })).toMatchObject({ hops: null, direction: null });
    expect(baseQuery(full)).toMatchObject({ hops: 2, direction: "in" });
  });

  test("forgets expansions, selection and camera for another base", () => {
    expect(withNewBase(full, { level: "hosts" })).toMatchObject({
      level: "hosts",
      expanded: [],
      selected: null,
      camera: null,
    });
  });
});
