/**
 * Placement of labels. The renderer collects the labels of all visible nodes. `placeLabels` takes the most important
 * ones first and skips labels that would overlap. A halo in the colour of the page keeps edges from crossing letters.
 */

export interface Label {
  key: string;
  text: string;
  x: number; // centre of the node, in pixels
  y: number;
  size: number; // radius of the node
  strong: boolean; // selected or hovered: always drawn
}

export interface PlacedLabel extends Label {
  left: number;
  baseline: number;
  fontSize: number; // pixels
}

export interface LabelColours {
  text: string;
  halo: string;
  font: string;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const MAX_LABELS = 140; // on a screen; more are unreadable
const MAX_CHARACTERS = 34;
const MARGIN = 3; // pixels between two labels

/** Chooses labels that do not overlap, those of larger nodes first. `width` measures a text at a font size. */
export function placeLabels(offered: Label[], width: (text: string, fontSize: number) => number): PlacedLabel[] {
  const order = [...offered].sort((one, other) => Number(other.strong) - Number(one.strong) || other.size - one.size);
  const taken: Box[] = [];
  const placed: PlacedLabel[] = [];
  for (const label of order) {
    if (placed.length >= MAX_LABELS) break;
    const text = truncate(label.text);
    const fontSize = fontSizeOf(label);
    const left = label.x + label.size + (label.strong ? 8 : 4); // leaves room for the ring
    const box = {
      left: left - MARGIN,
      right: left + width(text, fontSize) + MARGIN,
      top: label.y - fontSize / 2 - MARGIN,
      bottom: label.y + fontSize / 2 + MARGIN,
    };
    if (!label.strong && taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    placed.push({ ...label, text, left, fontSize, baseline: label.y + fontSize * 0.35 });
  }
  return placed;
}

/** Draws placed labels. */
export function drawLabels(context: CanvasRenderingContext2D, labels: PlacedLabel[], ink: LabelColours): void {
  context.lineJoin = "round";
  for (const { text, left, baseline, fontSize, strong } of labels) {
    context.font = `${strong ? 600 : 400} ${fontSize}px ${ink.font}`;
    context.lineWidth = fontSize / 3;
    context.strokeStyle = ink.halo;
    context.strokeText(text, left, baseline);
    context.fillStyle = ink.text;
    context.fillText(text, left, baseline);
  }
}

/** Cuts a text to `MAX_CHARACTERS`. */
export function truncate(text: string): string {
  const characters = [...text]; // code points: never cuts a surrogate pair
  return characters.length <= MAX_CHARACTERS
    ? text
    : `${characters
        .slice(0, MAX_CHARACTERS - 1)
        .join("")
        .trimEnd()}…`;
}

function fontSizeOf({ size, strong }: Label): number {
  return Math.round(Math.min(16, Math.max(11, 9 + size / 3)) + (strong ? 1 : 0));
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
}
