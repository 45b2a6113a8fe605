/** Sizes and colours of nodes and edges: radius by rank, colour by class, width by weight. */

import { cssVariable } from "../dom.ts";
import { isDark, mixColours } from "./colours.ts";
import type { Sizing } from "./state.ts";
import type { View } from "./view.ts";

const FEW_EDGES = 1000; // below this, edges are wider

export interface Theme {
  paper: string;
  ink: string;
  faint: string;
  accent: string;
  font: string;
  dark: boolean;
}

/** Returns the colours of the page as it is now. */
export function pageTheme(): Theme {
  const paper = cssVariable("--bg") || "#ffffff";
  return {
    paper,
    ink: cssVariable("--ink") || "#222222",
    faint: cssVariable("--ink-2") || "#666666",
    accent: cssVariable("--accent") || "#2255aa",
    font: cssVariable("--sans") || "system-ui, sans-serif",
    dark: isDark(paper),
  };
}

/** Returns node radii in pixels: larger with fewer nodes, smaller on a small screen (`scale`). */
export function nodeRadii(view: View, sizing: Sizing, scale = 1): Map<string, number> {
  const values = new Map(
    view.mapNodes((key, node) => [key, sizing === "score" ? node.score : Math.sqrt(node[sizing])]),
  );
  const least = Math.min(...values.values());
  const most = Math.max(...values.values());
  const biggest = scale * Math.min(20, Math.max(7, 46 / Math.max(1, view.order) ** 0.2));
  const smallest = biggest / 6;
  const share = (value: number): number => (most > least ? (value - least) / (most - least) : 0.5);
  return new Map([...values].map(([key, value]) => [key, smallest + (biggest - smallest) * share(value) ** 1.6]));
}

/** Returns the width of an edge in pixels, by the logarithm of its weight; wider in views with few edges. */
export function edgeWidth(weight: number, links: number): number {
  return Math.min(6, (links < FEW_EDGES ? 1.2 : 0.7) + 0.55 * Math.log2(Math.max(1, weight)));
}

/** Returns the colour of an edge: that of its source, paler with many edges, stronger with more weight. */
export function edgeColour(colour: string, weight: number, links: number, { paper, dark }: Theme): string {
  const crowd = Math.min(1, Math.log10(Math.max(10, links)) / 4); // 1 from 10,000 edges on
  const weak = 0.45 + 0.43 * crowd - Math.min(0.25, 0.05 * Math.log2(Math.max(1, weight)));
  return mixColours(colour, paper, Math.min(0.93, weak + (dark ? 0.02 : 0)));
}

/** Returns the colour of a node or edge outside the highlighted ones. */
export function dimColour(colour: string, { paper }: Theme): string {
  return mixColours(colour, paper, 0.82);
}
