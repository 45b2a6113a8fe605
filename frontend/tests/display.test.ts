import { describe, expect, test } from "vitest";
import { escapeHidden, formatBytes, formatDuration } from "../src/display.ts";

describe("display", () => {
  test.each([
    ["a\u202eb", "a«U+202E»b"],
    ["tab\there", "tab\\there"],
    ["bell\u0007", "bell\\x07"],
    ["half \ud800", "half «U+D800»"],
    ["tag \u{e0041}", "tag «U+E0041»"],
    ["می\u200cخواهم", "می\u200cخواهم"],
    ["👩\u200d💻", "👩\u200d💻"],
    ["plain — Ünïcode", "plain — Ünïcode"],
  ])("shows hidden characters: %j", (text, shown) => {
    expect(escapeHidden(text)).toBe(shown);
  });

  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1500, "1.5 kB"],
    [123_456, "123 kB"],
    [12_345_678, "12.3 MB"],
  ])("formats bytes as the command line does: %d", (amount, text) => {
    expect(formatBytes(amount)).toBe(text);
  });

  test.each([
    [12, "12 s"],
    [200, "3 min 20 s"],
    [7500, "2 h 05 min"],
    [100_000, "1 d 3 h"],
    [8_639_999, "99 d 23 h"],
    [90_000_000, "1,041 d"],
  ])("formats durations as the command line does: %d s", (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });
});
