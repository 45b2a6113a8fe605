/**
 * The view as files: SVG and PNG as it is seen, GEXF 1.3 with all that is known of each node, for Gephi. Names come from
 * the web: they are escaped, and characters that XML forbids are left out.
 */

import { parts } from "./colours.ts";
import type { Placed } from "./labels.ts";
import type { View } from "./view.ts";

export interface Disc {
  x: number;
  y: number;
  radius: number;
  colour: string;
}

export interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  width: number;
  colour: string;
}

/** What is on the screen, in pixels. */
export interface Picture {
  width: number;
  height: number;
  paper: string;
  ink: string;
  font: string;
  title: string;
  lines: Line[];
  discs: Disc[];
  labels: Placed[];
}

export function svg(picture: Picture): string {
  const { width, height, paper, ink, font, title } = picture;
  const lines = picture.lines.map(
    ({ x1, y1, x2, y2, width: thick, colour }) =>
      `<line x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}" stroke="${colour}" stroke-width="${short(thick)}"/>`,
  );
  const discs = picture.discs.map(
    ({ x, y, radius, colour }) =>
      `<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" fill="${colour}" stroke="${paper}"/>`,
  );
  const labels = picture.labels.map(
    ({ text, left, baseline, letters, strong }) =>
      `<text x="${short(left)}" y="${short(baseline)}" font-size="${letters}"${strong ? ' font-weight="600"' : ""} ` +
      `stroke-width="${short(letters / 3)}">${escaped(text)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    ...lines,
    ...discs,
    `<g font-family="${escaped(font)}" fill="${ink}" stroke="${paper}" stroke-linejoin="round" paint-order="stroke">`,
    ...labels,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** The SVG as a bitmap, so many pixels for each of the screen's. */
export async function png(picture: Picture, scale: number): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg(picture)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = picture.width * scale;
    canvas.height = picture.height * scale;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => {
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("This browser cannot write the picture."))));
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

export type Looks = (key: string) => { radius: number; colour: string; hidden: boolean };

const ATTRIBUTES = [
  ["score", "double"],
  ["community", "integer"],
  ["host", "string"],
  ["depth", "integer"],
  ["status", "integer"],
  ["pages", "integer"],
  ["in", "integer"],
  ["out", "integer"],
] as const;

export function gexf(view: View, looks: Looks, title: string): string {
  const shown = view.filterNodes((key) => !looks(key).hidden);
  const nodes = shown.map((key) => gexfNode(view, key, looks(key)));
  const visible = new Set(shown);
  const edges = view
    .filterEdges((_edge, _attributes, source, target) => visible.has(source) && visible.has(target))
    .map((edge) => {
      const [source, target] = view.extremities(edge).map(escaped);
      return `<edge source="${source}" target="${target}" weight="${view.getEdgeAttribute(edge, "weight")}"/>`;
    });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">',
    `<meta><creator>Gossamer</creator><description>${escaped(title)}</description></meta>`,
    '<graph defaultedgetype="directed" mode="static">',
    '<attributes class="node">',
    ...ATTRIBUTES.map(([name, type], number) => `<attribute id="${number}" title="${name}" type="${type}"/>`),
    "</attributes>",
    "<nodes>",
    ...nodes,
    "</nodes>",
    "<edges>",
    ...edges,
    "</edges>",
    "</graph>",
    "</gexf>",
    "",
  ].join("\n");
}

function gexfNode(view: View, key: string, { radius, colour }: ReturnType<Looks>): string {
  const node = view.getNodeAttributes(key);
  const values = ATTRIBUTES.flatMap(([name], number) => {
    const value = node[name];
    return value === null ? [] : [`<attvalue for="${number}" value="${escaped(String(value))}"/>`];
  });
  return (
    `<node id="${escaped(key)}" label="${escaped(node.label)}"><attvalues>${values.join("")}</attvalues>` +
    `<viz:size value="${short(radius)}"/><viz:position x="${short(node.x)}" y="${short(node.y)}"/>` +
    `<viz:color ${rgb(colour)}/></node>`
  );
}

/** A colour as Gephi and others read it: 1.3 knows `hex` too, its readers seldom do. */
function rgb(colour: string): string {
  const [red, green, blue] = parts(colour);
  return `r="${red}" g="${green}" b="${blue}"`;
}

/** Hands a file to the reader. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // browsers read it after the click
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text for XML 1.0: escaped, without control characters, lone surrogates and non-characters. */
export function escaped(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter)
  );
}

function short(number: number): string {
  return String(Number(number.toFixed(3)));
}
