/** The drawn graph: sigma with our sizes, colours and labels. Knows what is looked at, but not why. */

import Sigma from "sigma";
import { EdgeArrowProgram, EdgeRectangleProgram } from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData, PartialButFor, SigmaNodeEventPayload } from "sigma/types";
import { make, still } from "../page.ts";
import { Classes } from "./classes.ts";
import type { Disc, Line, Picture } from "./files.ts";
import { draw, type Label, type Placed, place } from "./labels.ts";
import { dimmed, linkColour, radii, type Theme, theme, thickness } from "./looks.ts";
import { extent } from "./places.ts";
import type { Camera, Colouring, Sizing } from "./state.ts";
import type { View } from "./view.ts";

const MOVE = 300; // ms
const QUICK = 4000; // links that are coloured anew while the mouse passes; of more, only the node and its name stand out
const NEAR = 0.45; // camera ratio when a node is gone to

export interface Wishes {
  click: (key: string) => void;
  leave: () => void; // a click beside all nodes
  moved: (camera: Camera) => void;
  tip: (edge: string) => string;
}

export class Stage {
  classes: Classes;
  private readonly sigma: Sigma;
  private readonly tooltip = make("div", { class: "graph-tip", hidden: true });
  private colours: Theme = theme();
  private sizes = new Map<string, number>();
  private off = new Set<string>();
  private selected: string | null = null;
  private hovered: string | null = null;
  private near = new Set<string>();
  private offered: Label[] = [];
  private placed: Placed[] = [];
  private readonly widths = new Map<string, number>(); // of labels, in em
  private readonly tints = new Map<string, string>(); // of links
  private appearance: { colouring: Colouring; sizing: Sizing; off: string[] } = {
    colouring: "community",
    sizing: "score",
    off: [],
  };

  constructor(
    private readonly view: View,
    private readonly box: HTMLElement,
    private readonly wishes: Wishes,
  ) {
    this.classes = new Classes(view, "community", this.colours.dark);
    this.sigma = new Sigma(view, box, {
      defaultEdgeType: "plain",
      edgeProgramClasses: { plain: EdgeRectangleProgram, pointed: EdgeArrowProgram }, // drawn in this order
      enableEdgeEvents: true,
      labelRenderedSizeThreshold: 0,
      maxCameraRatio: 4,
      minCameraRatio: 0.01,
      minEdgeThickness: 0.6,
      stagePadding: 60,
      zIndex: true,
      defaultDrawNodeLabel: (_, data) => this.offer(data),
      defaultDrawNodeHover: (context, data) => this.ring(context, data),
      nodeReducer: (key) => this.nodeLooks(key),
      edgeReducer: (key) => this.edgeLooks(key),
    });
    box.append(this.tooltip);
    this.listen();
  }

  private listen(): void {
    const { sigma } = this;
    sigma.on("beforeRender", () => {
      this.offered = [];
    });
    sigma.on("afterRender", () => this.drawLabels());
    sigma.on("clickNode", ({ node }) => this.wishes.click(node));
    sigma.on("doubleClickNode", (event: SigmaNodeEventPayload) => event.preventSigmaDefault());
    sigma.on("clickStage", () => this.wishes.leave());
    sigma.on("enterNode", ({ node }) => this.hover(node));
    sigma.on("leaveNode", () => this.hover(null));
    sigma.on("enterEdge", ({ edge, event }) => this.tip(this.wishes.tip(edge), event.x, event.y));
    sigma.on("leaveEdge", () => this.tip("", 0, 0));
    sigma.getCamera().on("updated", () => this.wishes.moved(this.camera));
  }

  get camera(): Camera {
    const { x, y, ratio } = this.sigma.getCamera().getState();
    return { x, y, ratio };
  }

  /** Another set of nodes is in the view: the frame fits them, and stays as it is when others join them. */
  frame(): void {
    const { left, right, top, bottom } = extent(this.view);
    this.sigma.setCustomBBox(this.view.order ? { x: [left, right], y: [top, bottom] } : null);
  }

  /** Draws anew after nodes, colours or sizes changed. */
  dress(colouring: Colouring, sizing: Sizing, off: string[]): void {
    this.appearance = { colouring, sizing, off };
    this.colours = theme();
    this.classes = new Classes(this.view, colouring, this.colours.dark);
    this.sizes = radii(this.view, sizing, this.scale());
    this.off = new Set(off);
    this.tints.clear();
    this.look();
  }

  /** Draws anew after the page turned dark or light, or changed its size. */
  redress(): void {
    this.dress(this.appearance.colouring, this.appearance.sizing, this.appearance.off);
  }

  select(key: string | null): void {
    this.selected = key;
    this.hovered = null;
    this.look();
  }

  /** Moves the camera; null shows everything. At once for other nodes than before: there is no way between them. */
  async move(camera: Camera | null, atOnce = false): Promise<void> {
    const way = { ...(camera ?? { x: 0.5, y: 0.5, ratio: 1 }), angle: 0 };
    if (atOnce || still()) this.sigma.getCamera().setState(way);
    else await this.sigma.getCamera().animate(way, { duration: MOVE });
  }

  /** Moves a node to the middle, near enough to read it. */
  async goTo(key: string): Promise<void> {
    const { x, y } = this.sigma.viewportToFramedGraph(this.spot(key));
    await this.move({ x, y, ratio: Math.min(this.camera.ratio, NEAR) });
  }

  /** Shifts by so many tenths of the screen, or zooms by a factor. */
  async shift(across: number, along: number): Promise<void> {
    const { x, y, ratio } = this.camera;
    await this.move({ x: x + across * ratio * 0.1, y: y + along * ratio * 0.1, ratio });
  }

  async zoom(factor: number): Promise<void> {
    const { x, y, ratio } = this.camera;
    await this.move({ x, y, ratio: Math.min(4, Math.max(0.01, ratio * factor)) });
  }

  resize(): void {
    this.sigma.resize();
    this.redress();
  }

  /** Nodes are as big on a laptop's screen as they are meant to be, and down to half as big on a phone's. */
  private scale(): number {
    const { width, height } = this.sigma.getDimensions();
    return Math.min(1.1, Math.max(0.5, Math.sqrt(width * height) / 850));
  }

  /** Whether a node is switched off in the legend. */
  hidden(key: string): boolean {
    return this.off.has(this.classes.get(key)?.id ?? "");
  }

  looks(key: string): { radius: number; colour: string; hidden: boolean } {
    const colour = this.classes.get(key)?.colour ?? this.colours.faint;
    return { radius: this.sizes.get(key) ?? 3, colour, hidden: this.hidden(key) };
  }

  /** What is on the screen now. */
  picture(title: string): Picture {
    const { width, height } = this.sigma.getDimensions();
    const { paper, ink, font } = this.colours;
    const discs: Disc[] = [];
    const lines: Line[] = [];
    this.view.forEachEdge((edge, _, source, target) => {
      const data = this.sigma.getEdgeDisplayData(edge);
      if (!data || data.hidden) return;
      const [from, to] = [this.spot(source), this.spot(target)];
      const thick = this.sigma.scaleSize(data.size);
      lines.push({ x1: from.x, y1: from.y, x2: to.x, y2: to.y, width: thick, colour: data.color });
    });
    this.view.forEachNode((key) => {
      const data = this.sigma.getNodeDisplayData(key);
      if (!data || data.hidden) return;
      discs.push({ ...this.spot(key), radius: this.sigma.scaleSize(data.size), colour: data.color });
    });
    return { width, height, paper, ink, font, title, lines, discs, labels: this.placed };
  }

  private spot(key: string): { x: number; y: number } {
    return this.sigma.graphToViewport(this.view.getNodeAttributes(key));
  }

  private hover(key: string | null): void {
    this.hovered = this.view.size <= QUICK ? key : null;
    this.box.classList.toggle("graph-on-node", key !== null);
    this.tip("", 0, 0);
    if (this.view.size <= QUICK) this.look();
  }

  /** What is looked at decides what stands out. */
  private look(): void {
    const centre = this.hovered ?? this.selected;
    this.near = new Set(centre && this.view.hasNode(centre) ? [centre, ...this.view.neighbors(centre)] : []);
    this.sigma.scheduleRefresh(); // once a frame, however much changed
  }

  private nodeLooks(key: string): Partial<NodeDisplayData> {
    const node = this.view.getNodeAttributes(key);
    const { radius, colour, hidden } = this.looks(key);
    const away = this.near.size > 0 && !this.near.has(key);
    return {
      x: node.x,
      y: node.y,
      label: node.label,
      size: radius,
      hidden,
      color: away ? dimmed(colour, this.colours) : colour,
      forceLabel: !away,
      highlighted: key === this.selected || key === this.hovered,
      zIndex: away ? 0 : 1,
    };
  }

  private edgeLooks(edge: string): Partial<EdgeDisplayData> {
    const weight = this.view.getEdgeAttribute(edge, "weight");
    const [source, target] = this.view.extremities(edge);
    const centre = this.hovered ?? this.selected;
    const touched = centre !== null && (source === centre || target === centre);
    const colour = this.classes.get(source)?.colour ?? this.colours.faint;
    return {
      size: thickness(weight, this.view.size) + (touched ? 0.6 : 0),
      hidden: this.hidden(source) || this.hidden(target),
      color: touched ? colour : this.tint(colour, weight),
      type: touched ? "pointed" : "plain",
      zIndex: touched ? 2 : 1,
    };
  }

  /** The colour of a link that is not looked at: the same few for thousands of links, so they are mixed once. */
  private tint(colour: string, weight: number): string {
    const away = this.near.size > 0;
    const name = `${colour} ${weight} ${away}`;
    const known = this.tints.get(name);
    if (known) return known;
    const plain = linkColour(colour, weight, this.view.size, this.colours);
    const mixture = away ? dimmed(plain, this.colours) : plain;
    this.tints.set(name, mixture);
    return mixture;
  }

  private offer({ key, label, x, y, size }: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label">): void {
    if (!key || !label || (this.near.size > 0 && !this.near.has(key))) return;
    this.offered.push({ key, text: label, x, y, size, strong: key === this.selected || key === this.hovered });
  }

  private drawLabels(): void {
    const context = this.sigma.getCanvases().labels?.getContext("2d");
    if (!context) return;
    const { ink, paper, font } = this.colours;
    this.placed = place(this.offered, (text, letters) => this.width(context, text, letters));
    draw(context, this.placed, { text: ink, halo: paper, font });
  }

  private width(context: CanvasRenderingContext2D, text: string, letters: number): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      context.font = `400 100px ${this.colours.font}`;
      width = context.measureText(text).width / 100;
      this.widths.set(text, width);
    }
    return width * letters;
  }

  /** A ring around what is selected or pointed at, and its name above everything. */
  private ring(
    context: CanvasRenderingContext2D,
    data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label">,
  ): void {
    const { x, y, size, label } = data;
    context.beginPath();
    context.arc(x, y, size + 4, 0, 2 * Math.PI);
    context.lineWidth = 2.5;
    context.strokeStyle = this.colours.accent;
    context.stroke();
    const { ink, paper, font } = this.colours;
    const name = { key: "", text: label ?? "", x, y, size, strong: true };
    draw(
      context,
      place([name], (text, letters) => this.width(context, text, letters)),
      { text: ink, halo: paper, font },
    );
  }

  private tip(text: string, x: number, y: number): void {
    this.tooltip.hidden = text === "";
    this.tooltip.textContent = text;
    this.tooltip.style.transform = `translate(${Math.round(x + 12)}px, ${Math.round(y + 12)}px)`;
  }
}
