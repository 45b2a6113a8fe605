/**
 * Places for nodes that join a view. The server laid out the view; newcomers stand around the node they came with, on a
 * spiral of even density, wherever nothing stands yet. The same view gives the same places, so that a shared link shows
 * the same picture.
 */

import type { View } from "./view.ts";

export interface Place {
  x: number;
  y: number;
}

const GOLDEN = Math.PI * (3 - Math.sqrt(5)); // the angle of sunflower seeds: evenly spread, never in line

export function places(view: View, key: string, count: number): Place[] {
  const gap = spacing(view);
  const taken = new Crowd(gap, view);
  const middle = view.hasNode(key) ? view.getNodeAttributes(key) : beside(view, gap);
  const found: Place[] = [];
  for (let turn = 1; found.length < count; turn++) {
    const radius = gap * (1 + Math.sqrt(turn)) * 0.8;
    const place = { x: middle.x + radius * Math.cos(turn * GOLDEN), y: middle.y + radius * Math.sin(turn * GOLDEN) };
    if (taken.near(place)) continue;
    taken.add(place);
    found.push(place);
  }
  return found;
}

/** How far newcomers stand apart: half of what nodes of the view would, were they spread evenly. */
function spacing(view: View): number {
  if (view.order < 2) return 1;
  const { left, right, top, bottom } = extent(view);
  const area = Math.max((right - left) * (bottom - top), 1e-6);
  return Math.sqrt(area / view.order) / 2;
}

/** A place right of all that is shown, for a node that was not part of the view. */
function beside(view: View, gap: number): Place {
  if (view.order === 0) return { x: 0, y: 0 };
  const { right, top, bottom } = extent(view);
  return { x: right + 4 * gap, y: (top + bottom) / 2 };
}

export interface Extent {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The box that holds all nodes. */
export function extent(view: View): Extent {
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  view.forEachNode((_, { x, y }) => {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  });
  return box;
}

const FRAME = { width: 1100, height: 460 }; // pixels of a usual picture: the same places on every screen
const EFFORT = 60_000; // nodes moved in all, at most: a fraction of a second
const GAP = 1.5; // pixels between two discs

interface Disc extends Place {
  key: string;
  radius: number; // in the graph's own unit
}

/** Moves nodes as little as needed for their discs not to cover each other. `radii` are in pixels. */
export function untangle(view: View, radii: Map<string, number>): void {
  const { left, right, top, bottom } = extent(view);
  const unit = Math.max((right - left) / FRAME.width, (bottom - top) / FRAME.height) || 1 / FRAME.width;
  const discs = view.mapNodes((key, { x, y }) => ({ key, x, y, radius: ((radii.get(key) ?? 0) + GAP) * unit }));
  const widest = 2 * Math.max(0, ...discs.map(({ radius }) => radius));
  const rounds = Math.min(200, EFFORT / discs.length);
  for (let round = 0; round < rounds && pushApart(discs, widest); round++);
  for (const { key, x, y } of discs) view.mergeNodeAttributes(key, { x, y });
}

/** One round; whether any two overlapped. Those that may are next to each other when sorted from left to right. */
function pushApart(discs: Disc[], widest: number): boolean {
  discs.sort((one, other) => one.x - other.x || (one.key < other.key ? -1 : 1));
  let moved = false;
  discs.forEach((one, turn) => {
    for (let next = turn + 1; next < discs.length; next++) {
      const other = discs[next];
      if (!other || other.x - one.x > widest) break;
      moved = push(one, other, turn) || moved;
    }
  });
  return moved;
}

function push(one: Disc, other: Disc, turn: number): boolean {
  const [across, along] = [other.x - one.x, other.y - one.y];
  const distance = Math.hypot(across, along);
  const overlap = one.radius + other.radius - distance;
  if (overlap <= one.radius * 1e-3) return false;
  const angle = distance > 0 ? Math.atan2(along, across) : turn * GOLDEN;
  const share = one.radius / (one.radius + other.radius); // the smaller one gives way
  one.x -= Math.cos(angle) * overlap * (1 - share);
  one.y -= Math.sin(angle) * overlap * (1 - share);
  other.x += Math.cos(angle) * overlap * share;
  other.y += Math.sin(angle) * overlap * share;
  return true;
}

/** Points in cells, to find quickly whether one is near. */
class Crowd {
  private readonly cells = new Map<string, Place[]>();

  constructor(
    private readonly gap: number,
    view: View,
  ) {
    view.forEachNode((_, node) => {
      this.add(node);
    });
  }

  add(place: Place): void {
    const cell = this.cell(place, 0, 0);
    this.cells.set(cell, [...(this.cells.get(cell) ?? []), place]);
  }

  near(place: Place): boolean {
    const around = [-1, 0, 1].flatMap((across) => [-1, 0, 1].map((along) => this.cell(place, across, along)));
    return around.some((cell) =>
      this.cells.get(cell)?.some((other) => Math.hypot(other.x - place.x, other.y - place.y) < this.gap),
    );
  }

  private cell(place: Place, across: number, along: number): string {
    return `${Math.floor(place.x / this.gap) + across} ${Math.floor(place.y / this.gap) + along}`;
  }
}
