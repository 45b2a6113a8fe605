/** How nodes and links of a view look: size by rank, colour by class, thickness by weight. */

import { property } from "../page.ts";
import { isDark, mixed } from "./colours.ts";
import type { Sizing } from "./state.ts";
import type { View } from "./view.ts";

const FEW = 1000; // links

export interface Theme {
  paper: string;
  ink: string;
  faint: string;
  accent: string;
  font: string;
  dark: boolean;
}

/** The colours of the page as it is now. */
export function theme(): Theme {
  const paper = property("--bg") || "#ffffff";
  return {
    paper,
    ink: property("--ink") || "#222222",
    faint: property("--ink-2") || "#666666",
    accent: property("--accent") || "#2255aa",
    font: property("--sans") || "system-ui, sans-serif",
    dark: isDark(paper),
  };
}

/** Radius of nodes in pixels; fewer nodes may be bigger, and all are smaller on a small screen (`scale`). */
export function radii(view: View, sizing: Sizing, scale = 1): Map<string, number> {
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

/** Thickness of a link in pixels: each doubling of its weight adds as much; where there are few links, all are thicker. */
export function thickness(weight: number, links: number): number {
  return Math.min(6, (links < FEW ? 1.2 : 0.7) + 0.55 * Math.log2(Math.max(1, weight)));
}

/** Colour of a link: that of its source, nearly gone where there are many links, stronger where it weighs more. */
export function linkColour(colour: string, weight: number, links: number, { paper, dark }: Theme): string {
  const crowd = Math.min(1, Math.log10(Math.max(10, links)) / 4); // 10,000 links: 1
  const weak = 0.45 + 0.43 * crowd - Math.min(0.25, 0.05 * Math.log2(Math.max(1, weight)));
  return mixed(colour, paper, Math.min(0.93, weak + (dark ? 0.02 : 0)));
}

/** Colour of what is not looked at. */
export function dimmed(colour: string, { paper }: Theme): string {
  return mixed(colour, paper, 0.82);
}
