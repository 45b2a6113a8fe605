/**
 * Labels that can be read. The renderer offers every node's label; this draws the important ones first and leaves out
 * those that would overlap another, with a halo in the page's colour so that links do not cross letters.
 */

export interface Label {
  key: string;
  text: string;
  x: number; // of the node's middle, in pixels
  y: number;
  size: number; // radius of the node
  strong: boolean; // looked at: goes first
}

export interface Placed extends Label {
  left: number;
  baseline: number;
  letters: number; // height, in pixels
}

export interface Ink {
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

const MOST = 140; // on a screen; more are grey noise
const LONGEST = 34; // characters
const MARGIN = 3; // pixels between two labels

/** Chooses labels that do not overlap, the bigger nodes' first. `width` measures a text of a height in pixels. */
export function place(offered: Label[], width: (text: string, letters: number) => number): Placed[] {
  const order = [...offered].sort((one, other) => Number(other.strong) - Number(one.strong) || other.size - one.size);
  const taken: Box[] = [];
  const placed: Placed[] = [];
  for (const label of order) {
    if (placed.length >= MOST) break;
    const text = shortened(label.text);
    const letters = lettersFor(label);
    const left = label.x + label.size + (label.strong ? 8 : 4); // a ring stands around what is looked at
    const box = {
      left: left - MARGIN,
      right: left + width(text, letters) + MARGIN,
      top: label.y - letters / 2 - MARGIN,
      bottom: label.y + letters / 2 + MARGIN,
    };
    if (!label.strong && taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    placed.push({ ...label, text, left, letters, baseline: label.y + letters * 0.35 });
  }
  return placed;
}

/** Draws placed labels. */
export function draw(context: CanvasRenderingContext2D, labels: Placed[], ink: Ink): void {
  context.lineJoin = "round";
  for (const { text, left, baseline, letters, strong } of labels) {
    context.font = `${strong ? 600 : 400} ${letters}px ${ink.font}`;
    context.lineWidth = letters / 3;
    context.strokeStyle = ink.halo;
    context.strokeText(text, left, baseline);
    context.fillStyle = ink.text;
    context.fillText(text, left, baseline);
  }
}

/** A text that is not too long. */
export function shortened(text: string): string {
  const letters = [...text]; // by code points: half a letter is none
  return letters.length <= LONGEST
    ? text
    : `${letters
        .slice(0, LONGEST - 1)
        .join("")
        .trimEnd()}…`;
}

function lettersFor({ size, strong }: Label): number {
  return Math.round(Math.min(16, Math.max(11, 9 + size / 3)) + (strong ? 1 : 0));
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
}
