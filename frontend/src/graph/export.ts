/**
 * The view as files: SVG and PNG as on the screen, GEXF 1.3 with all attributes of the nodes for Gephi. Names come from
 * the web, so this module escapes them and drops characters that XML forbids.
 */

import { rgb } from "./colours.ts";
import type { PlacedLabel } from "./labels.ts";
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

/** The picture on the screen, in pixels. */
export interface Picture {
  width: number;
  height: number;
  paper: string;
  ink: string;
  font: string;
  title: string;
  lines: Line[];
  discs: Disc[];
  labels: PlacedLabel[];
}

export function toSvg(picture: Picture): string {
  const { width, height, paper, ink, font, title } = picture;
  const lines = picture.lines.map(
    ({ x1, y1, x2, y2, width: thick, colour }) =>
      `<line x1="${formatCoordinate(x1)}" y1="${formatCoordinate(y1)}" x2="${formatCoordinate(x2)}" y2="${formatCoordinate(y2)}" stroke="${colour}" stroke-width="${formatCoordinate(thick)}"/>`,
  );
  const discs = picture.discs.map(
    ({ x, y, radius, colour }) =>
      `<circle cx="${formatCoordinate(x)}" cy="${formatCoordinate(y)}" r="${formatCoordinate(radius)}" fill="${colour}" stroke="${paper}"/>`,
  );
  const labels = picture.labels.map(
    ({ text, left, baseline, fontSize, strong }) =>
      `<text x="${formatCoordinate(left)}" y="${formatCoordinate(baseline)}" font-size="${fontSize}"${strong ? ' font-weight="600"' : ""} ` +
      `stroke-width="${formatCoordinate(fontSize / 3)}">${escapeXml(text)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    ...lines,
    ...discs,
    `<g font-family="${escapeXml(font)}" fill="${ink}" stroke="${paper}" stroke-linejoin="round" paint-order="stroke">`,
    ...labels,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Draws the picture as a bitmap, with `scale` pixels per pixel of the screen. */
export async function toPng(picture: Picture, scale: number): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([toSvg(picture)], { type: "image/svg+xml" }));
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

export type NodeAppearance = (key: string) => { radius: number; colour: string; hidden: boolean };

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

export function toGexf(view: View, appearance: NodeAppearance, title: string): string {
  const keys = view.filterNodes((key) => !appearance(key).hidden);
  const nodes = keys.map((key) => gexfNode(view, key, appearance(key)));
  const visible = new Set(keys);
  const edges = view
    .filterEdges((_edge, _attributes, source, target) => visible.has(source) && visible.has(target))
    .map((edge) => {
      const [source, target] = view.extremities(edge).map(escapeXml);
      return `<edge source="${source}" target="${target}" weight="${view.getEdgeAttribute(edge, "weight")}"/>`;
    });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">',
    `<meta><creator>Gossamer</creator><description>${escapeXml(title)}</description></meta>`,
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

function gexfNode(view: View, key: string, { radius, colour }: ReturnType<NodeAppearance>): string {
  const node = view.getNodeAttributes(key);
  const values = ATTRIBUTES.flatMap(([name], number) => {
    const value = node[name];
    return value === null ? [] : [`<attvalue for="${number}" value="${escapeXml(String(value))}"/>`];
  });
  return (
    `<node id="${escapeXml(key)}" label="${escapeXml(node.label)}"><attvalues>${values.join("")}</attvalues>` +
    `<viz:size value="${formatCoordinate(radius)}"/><viz:position x="${formatCoordinate(node.x)}" y="${formatCoordinate(node.y)}"/>` +
    `<viz:color ${rgbAttributes(colour)}/></node>`
  );
}

/** Returns a colour as `r`, `g`, `b`. GEXF 1.3 has `hex` too, but few readers support it. */
function rgbAttributes(colour: string): string {
  const [red, green, blue] = rgb(colour);
  return `r="${red}" g="${green}" b="${blue}"`;
}

/** Downloads a file. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // browsers read the blob after the click
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a text for XML 1.0; drops control characters and non-characters, replaces lone surrogates. */
export function escapeXml(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids these characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter)
  );
}

function formatCoordinate(number: number): string {
  return String(Number(number.toFixed(3)));
}
