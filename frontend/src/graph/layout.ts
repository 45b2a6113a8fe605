/**
 * Positions of nodes that join a view. The server lays out the first nodes. New nodes go on a spiral around the node that
 * was expanded, at free positions. The result is deterministic, so that a shared link shows the same picture.
 */

import type { View } from "./view.ts";

export interface Point {
  x: number;
  y: number;
}

const GOLDEN = Math.PI * (3 - Math.sqrt(5)); // the golden angle spreads points evenly

export function spiralPositions(view: View, key: string, count: number): Point[] {
  const gap = spacing(view);
  const taken = new PointGrid(gap, view);
  const middle = view.hasNode(key) ? view.getNodeAttributes(key) : besideView(view, gap);
  const positions: Point[] = [];
  for (let turn = 1; positions.length < count; turn++) {
    const radius = gap * (1 + Math.sqrt(turn)) * 0.8;
    const point = { x: middle.x + radius * Math.cos(turn * GOLDEN), y: middle.y + radius * Math.sin(turn * GOLDEN) };
    if (taken.near(point)) continue;
    taken.add(point);
    positions.push(point);
  }
  return positions;
}

/** Returns the distance between new nodes: half the mean distance of the nodes in the view. */
function spacing(view: View): number {
  if (view.order < 2) return 1;
  const { left, right, top, bottom } = boundingBox(view);
  const area = Math.max((right - left) * (bottom - top), 1e-6);
  return Math.sqrt(area / view.order) / 2;
}

/** Returns a position to the right of all nodes, for a node outside the view. */
function besideView(view: View, gap: number): Point {
  if (view.order === 0) return { x: 0, y: 0 };
  const { right, top, bottom } = boundingBox(view);
  return { x: right + 4 * gap, y: (top + bottom) / 2 };
}

export interface BoundingBox {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Returns the smallest box around all nodes. */
export function boundingBox(view: View): BoundingBox {
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  view.forEachNode((_, { x, y }) => {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  });
  return box;
}

const FRAME = { width: 1100, height: 460 }; // pixels; fixed, so that positions are the same on every screen
const MAX_MOVES = 60_000; // node moves in all; takes a fraction of a second
const GAP = 1.5; // pixels between two discs

interface Disc extends Point {
  key: string;
  radius: number; // in the graph's own unit
}

/** Moves nodes just enough that their discs do not overlap. `radii` are in pixels. */
export function removeOverlaps(view: View, radii: Map<string, number>): void {
  const { left, right, top, bottom } = boundingBox(view);
  const unit = Math.max((right - left) / FRAME.width, (bottom - top) / FRAME.height) || 1 / FRAME.width;
  const discs = view.mapNodes((key, { x, y }) => ({ key, x, y, radius: ((radii.get(key) ?? 0) + GAP) * unit }));
  const widest = 2 * Math.max(0, ...discs.map(({ radius }) => radius));
  const rounds = Math.min(200, MAX_MOVES / discs.length);
  for (let round = 0; round < rounds && pushApart(discs, widest); round++);
  for (const { key, x, y } of discs) view.mergeNodeAttributes(key, { x, y });
}

/** Runs one round; returns whether any discs overlapped. Sorting by x limits the pairs to compare. */
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
  const share = one.radius / (one.radius + other.radius); // the smaller disc moves further
  one.x -= Math.cos(angle) * overlap * (1 - share);
  one.y -= Math.sin(angle) * overlap * (1 - share);
  other.x += Math.cos(angle) * overlap * share;
  other.y += Math.sin(angle) * overlap * share;
  return true;
}

/** A grid of points that finds near points fast. */
class PointGrid {
  private readonly cells = new Map<string, Point[]>();

  constructor(
    private readonly gap: number,
    view: View,
  ) {
    view.forEachNode((_, node) => {
      this.add(node);
    });
  }

  add(point: Point): void {
    const cell = this.cell(point, 0, 0);
    this.cells.set(cell, [...(this.cells.get(cell) ?? []), point]);
  }

  near(point: Point): boolean {
    const around = [-1, 0, 1].flatMap((across) => [-1, 0, 1].map((along) => this.cell(point, across, along)));
    return around.some((cell) =>
      this.cells.get(cell)?.some((other) => Math.hypot(other.x - point.x, other.y - point.y) < this.gap),
    );
  }

  private cell(point: Point, across: number, along: number): string {
    return `${Math.floor(point.x / this.gap) + across} ${Math.floor(point.y / this.gap) + along}`;
  }
}
