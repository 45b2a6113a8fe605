/** Draws the view with sigma, in our sizes, colours and labels. Reports clicks and camera moves to its handlers. */

import Sigma from "sigma";
import { EdgeArrowProgram, EdgeRectangleProgram } from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData, PartialButFor, SigmaNodeEventPayload } from "sigma/types";
import { createElement, prefersReducedMotion } from "../dom.ts";
import { Classes } from "./classes.ts";
import type { Disc, Line, Picture } from "./export.ts";
import { drawLabels, type Label, type PlacedLabel, placeLabels } from "./labels.ts";
import { boundingBox } from "./layout.ts";
import type { Camera, Colouring, Sizing } from "./state.ts";
import { dimColour, edgeColour, edgeWidth, nodeRadii, pageTheme, type Theme } from "./style.ts";
import type { View } from "./view.ts";

const ANIMATION_MS = 300;
const MAX_HOVER_EDGES = 4000; // with more edges, hovering does not recolour the view
const CLOSE_RATIO = 0.45; // largest camera ratio after centring on a node

export interface RendererHandlers {
  click: (key: string) => void;
  clickBackground: () => void;
  moved: (camera: Camera) => void;
  describeEdge: (edge: string) => string; // text of its tooltip
}

export class GraphRenderer {
  classes: Classes;
  private readonly sigma: Sigma;
  private readonly tooltip = createElement("div", { class: "graph-tip", hidden: true });
  private colours: Theme = pageTheme();
  private sizes = new Map<string, number>();
  private off = new Set<string>();
  private selected: string | null = null;
  private hovered: string | null = null;
  private near = new Set<string>();
  private labels: Label[] = [];
  private placed: PlacedLabel[] = [];
  private readonly widths = new Map<string, number>(); // of labels, in em
  private readonly tints = new Map<string, string>(); // of links
  private style: { colouring: Colouring; sizing: Sizing; off: string[] } = {
    colouring: "community",
    sizing: "score",
    off: [],
  };

  constructor(
    private readonly view: View,
    private readonly box: HTMLElement,
    private readonly handlers: RendererHandlers,
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
      defaultDrawNodeLabel: (_, data) => this.collectLabel(data),
      defaultDrawNodeHover: (context, data) => this.drawRing(context, data),
      nodeReducer: (key) => this.nodeStyle(key),
      edgeReducer: (key) => this.edgeStyle(key),
    });
    box.append(this.tooltip);
    this.listen();
  }

  private listen(): void {
    const { sigma } = this;
    sigma.on("beforeRender", () => {
      this.labels = [];
    });
    sigma.on("afterRender", () => this.drawAllLabels());
    sigma.on("clickNode", ({ node }) => this.handlers.click(node));
    sigma.on("doubleClickNode", (event: SigmaNodeEventPayload) => event.preventSigmaDefault());
    sigma.on("clickStage", () => this.handlers.clickBackground());
    sigma.on("enterNode", ({ node }) => this.hover(node));
    sigma.on("leaveNode", () => this.hover(null));
    sigma.on("enterEdge", ({ edge, event }) => this.showTooltip(this.handlers.describeEdge(edge), event.x, event.y));
    sigma.on("leaveEdge", () => this.showTooltip("", 0, 0));
    sigma.getCamera().on("updated", () => this.handlers.moved(this.camera));
  }

  get camera(): Camera {
    const { x, y, ratio } = this.sigma.getCamera().getState();
    return { x, y, ratio };
  }

  /** Fits the frame to the nodes of a new base; it stays the same when nodes join later. */
  fitFrame(): void {
    const { left, right, top, bottom } = boundingBox(this.view);
    this.sigma.setCustomBBox(this.view.order ? { x: [left, right], y: [top, bottom] } : null);
  }

  /** Draws the view after nodes, colours or sizes changed. */
  setStyle(colouring: Colouring, sizing: Sizing, off: string[]): void {
    this.style = { colouring, sizing, off };
    this.colours = pageTheme();
    this.classes = new Classes(this.view, colouring, this.colours.dark);
    this.sizes = nodeRadii(this.view, sizing, this.scale());
    this.off = new Set(off);
    this.tints.clear();
    this.updateHighlight();
  }

  /** Draws the view after the page turned dark or light, or changed its size. */
  refreshStyle(): void {
    this.setStyle(this.style.colouring, this.style.sizing, this.style.off);
  }

  select(key: string | null): void {
    this.selected = key;
    this.hovered = null;
    this.updateHighlight();
  }

  /** Moves the camera; null shows everything. `atOnce`: without animation, for a new set of nodes. */
  async move(camera: Camera | null, atOnce = false): Promise<void> {
    const target = { ...(camera ?? { x: 0.5, y: 0.5, ratio: 1 }), angle: 0 };
    if (atOnce || prefersReducedMotion()) this.sigma.getCamera().setState(target);
    else await this.sigma.getCamera().animate(target, { duration: ANIMATION_MS });
  }

  /** Moves the camera to a node, close enough to read its label. */
  async centreOn(key: string): Promise<void> {
    const { x, y } = this.sigma.viewportToFramedGraph(this.screenPosition(key));
    await this.move({ x, y, ratio: Math.min(this.camera.ratio, CLOSE_RATIO) });
  }

  /** Moves the camera by tenths of the screen. */
  async pan(across: number, along: number): Promise<void> {
    const { x, y, ratio } = this.camera;
    await this.move({ x: x + across * ratio * 0.1, y: y + along * ratio * 0.1, ratio });
  }

  async zoom(factor: number): Promise<void> {
    const { x, y, ratio } = this.camera;
    await this.move({ x, y, ratio: Math.min(4, Math.max(0.01, ratio * factor)) });
  }

  resize(): void {
    this.sigma.resize();
    this.refreshStyle();
  }

  /** Returns the scale of nodes: about 1 on a laptop, down to 0.5 on a phone. */
  private scale(): number {
    const { width, height } = this.sigma.getDimensions();
    return Math.min(1.1, Math.max(0.5, Math.sqrt(width * height) / 850));
  }

  /** Whether the legend hides the class of a node. */
  isHidden(key: string): boolean {
    return this.off.has(this.classes.get(key)?.id ?? "");
  }

  appearance(key: string): { radius: number; colour: string; hidden: boolean } {
    const colour = this.classes.get(key)?.colour ?? this.colours.faint;
    return { radius: this.sizes.get(key) ?? 3, colour, hidden: this.isHidden(key) };
  }

  /** Returns the picture on the screen. */
  picture(title: string): Picture {
    const { width, height } = this.sigma.getDimensions();
    const { paper, ink, font } = this.colours;
    const discs: Disc[] = [];
    const lines: Line[] = [];
    this.view.forEachEdge((edge, _, source, target) => {
      const data = this.sigma.getEdgeDisplayData(edge);
      if (!data || data.hidden) return;
      const [from, to] = [this.screenPosition(source), this.screenPosition(target)];
      const width = this.sigma.scaleSize(data.size);
      lines.push({ x1: from.x, y1: from.y, x2: to.x, y2: to.y, width, colour: data.color });
    });
    this.view.forEachNode((key) => {
      const data = this.sigma.getNodeDisplayData(key);
      if (!data || data.hidden) return;
      discs.push({ ...this.screenPosition(key), radius: this.sigma.scaleSize(data.size), colour: data.color });
    });
    return { width, height, paper, ink, font, title, lines, discs, labels: this.placed };
  }

  private screenPosition(key: string): { x: number; y: number } {
    return this.sigma.graphToViewport(this.view.getNodeAttributes(key));
  }

  private hover(key: string | null): void {
    this.hovered = this.view.size <= MAX_HOVER_EDGES ? key : null;
    this.box.classList.toggle("graph-on-node", key !== null);
    this.showTooltip("", 0, 0);
    if (this.view.size <= MAX_HOVER_EDGES) this.updateHighlight();
  }

  /** Highlights the hovered or selected node and its neighbours. */
  private updateHighlight(): void {
    const centre = this.hovered ?? this.selected;
    this.near = new Set(centre && this.view.hasNode(centre) ? [centre, ...this.view.neighbors(centre)] : []);
    this.sigma.scheduleRefresh(); // draws once per frame, however many changes there are
  }

  private nodeStyle(key: string): Partial<NodeDisplayData> {
    const node = this.view.getNodeAttributes(key);
    const { radius, colour, hidden } = this.appearance(key);
    const isDimmed = this.near.size > 0 && !this.near.has(key);
    return {
      x: node.x,
      y: node.y,
      label: node.label,
      size: radius,
      hidden,
      color: isDimmed ? dimColour(colour, this.colours) : colour,
      forceLabel: !isDimmed,
      highlighted: key === this.selected || key === this.hovered,
      zIndex: isDimmed ? 0 : 1,
    };
  }

  private edgeStyle(edge: string): Partial<EdgeDisplayData> {
    const weight = this.view.getEdgeAttribute(edge, "weight");
    const [source, target] = this.view.extremities(edge);
    const centre = this.hovered ?? this.selected;
    const touched = centre !== null && (source === centre || target === centre);
    const colour = this.classes.get(source)?.colour ?? this.colours.faint;
    return {
      size: edgeWidth(weight, this.view.size) + (touched ? 0.6 : 0),
      hidden: this.isHidden(source) || this.isHidden(target),
      color: touched ? colour : this.edgeTint(colour, weight),
      type: touched ? "pointed" : "plain",
      zIndex: touched ? 2 : 1,
    };
  }

  /** Returns the colour of an edge without highlight, from a cache: thousands of edges share few colours. */
  private edgeTint(colour: string, weight: number): string {
    const isDimmed = this.near.size > 0;
    const name = `${colour} ${weight} ${isDimmed}`;
    const known = this.tints.get(name);
    if (known) return known;
    const plain = edgeColour(colour, weight, this.view.size, this.colours);
    const mixture = isDimmed ? dimColour(plain, this.colours) : plain;
    this.tints.set(name, mixture);
    return mixture;
  }

  private collectLabel({ key, label, x, y, size }: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label">): void {
    if (!key || !label || (this.near.size > 0 && !this.near.has(key))) return;
    this.labels.push({ key, text: label, x, y, size, strong: key === this.selected || key === this.hovered });
  }

  private drawAllLabels(): void {
    const context = this.sigma.getCanvases().labels?.getContext("2d");
    if (!context) return;
    const { ink, paper, font } = this.colours;
    this.placed = placeLabels(this.labels, (text, fontSize) => this.textWidth(context, text, fontSize));
    drawLabels(context, this.placed, { text: ink, halo: paper, font });
  }

  private textWidth(context: CanvasRenderingContext2D, text: string, fontSize: number): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      context.font = `400 100px ${this.colours.font}`;
      width = context.measureText(text).width / 100;
      this.widths.set(text, width);
    }
    return width * fontSize;
  }

  /** Draws a ring around the selected or hovered node, and its label above everything. */
  private drawRing(
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
    drawLabels(
      context,
      placeLabels([name], (text, fontSize) => this.textWidth(context, text, fontSize)),
      { text: ink, halo: paper, font },
    );
  }

  private showTooltip(text: string, x: number, y: number): void {
    this.tooltip.hidden = text === "";
    this.tooltip.textContent = text;
    this.tooltip.style.transform = `translate(${Math.round(x + 12)}px, ${Math.round(y + 12)}px)`;
  }
}
