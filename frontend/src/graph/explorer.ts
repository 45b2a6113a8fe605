/**
 * The explorer. One state, kept in the URL, decides what the page shows. Every action makes a new state (`navigate`); the
 * back button restores an old one. `show` updates the page and fetches missing nodes from the server.
 */

import { getJson, postJson } from "../api.ts";
import { formatCount } from "../display.ts";
import { onThemeChange } from "../dom.ts";
import { Controls } from "./controls.ts";
import { download, toGexf, toPng, toSvg } from "./export.ts";
import { fillLegend } from "./legend.ts";
import { fillPanel } from "./panel.ts";
import { GraphRenderer } from "./renderer.ts";
import { baseQuery, type Camera, type Colouring, formatState, parseState, type State, withNewBase } from "./state.ts";
import { fillTable, markTableRow } from "./table.ts";
import {
  emptyView,
  fillView,
  type GraphAnswer,
  keysByRank,
  type Level,
  MAX_NODES,
  type NeighboursAnswer,
  nodeIds,
} from "./view.ts";

const NEIGHBOURS = 40; // added by one expansion
const MAX_CACHED = 30; // answers of the server
const CAMERA_PAUSE = 400; // ms after the last camera move until the URL changes

/** The elements that the explorer fills. */
export interface Parts {
  box: HTMLElement;
  canvas: HTMLElement;
  legend: HTMLElement;
  panel: HTMLElement;
  rows: HTMLElement;
  status: HTMLElement;
  notice: HTMLElement;
}

export interface Paths {
  graph: string;
  neighbours: string;
  find: string;
}

export class Explorer {
  private state: State;
  private base: GraphAnswer | null = null;
  private loaded = ""; // key of the nodes in the view
  private listed = ""; // key of the nodes in the table
  private readonly view = emptyView();
  private readonly renderer: GraphRenderer;
  private readonly controls: Controls;
  private readonly answers = new Map<string, Promise<unknown>>();
  private turn = 0;
  private settling = 0;
  private tracksCamera = true; // false while the state itself moves the camera

  constructor(
    private readonly parts: Parts,
    private readonly paths: Paths,
  ) {
    this.state = parseState(location.search);
    this.renderer = new GraphRenderer(this.view, parts.canvas, {
      click: (key) => this.click(key),
      clickBackground: () => this.select(null),
      moved: (camera) => this.cameraMoved(camera),
      describeEdge: (edge) => this.describeEdge(edge),
    });
    this.controls = new Controls(
      {
        state: () => this.state,
        level: () => this.level,
        navigate: (next) => this.navigate(next),
        find: (key) => this.find(key),
        report: (text) => this.setStatus(text),
      },
      paths.find,
    );
    addEventListener("popstate", () => this.show(parseState(location.search), true));
    new ResizeObserver(() => this.renderer.resize()).observe(parts.canvas);
    onThemeChange(() => {
      this.renderer.refreshStyle();
      this.fillLegend();
      this.fillTable();
    });
    this.show(this.state, true);
  }

  // -- actions -------------------------------------------------------------------------------------------------------

  /** Changes the state, as one step for the back button. */
  private navigate(next: State): Promise<void> {
    history.pushState(null, "", address(next));
    return this.show(next, false);
  }

  private async select(key: string | null): Promise<void> {
    if (key !== this.state.selected) await this.navigate({ ...this.state, selected: key });
  }

  private click(key: string): void {
    if (key === this.state.selected) this.expand(key);
    else this.select(key);
  }

  expand(key: string): void {
    if (this.state.expanded.includes(key)) return;
    if (this.view.order >= MAX_NODES) {
      this.setStatus(
        `The picture holds ${formatCount(MAX_NODES)} nodes at most. Show fewer, or only the surroundings of one.`,
      );
      return;
    }
    this.navigate({ ...this.state, expanded: [...this.state.expanded, key], selected: key });
  }

  /** Shows only the surroundings of a node. */
  private focus(key: string): void {
    const host = this.level === "pages" ? this.state.host : null;
    this.navigate(withNewBase(this.state, { level: this.level, host, focus: key, selected: key }));
  }

  /** Selects a node if it is in the view, else shows its surroundings. */
  private find(key: string): void {
    if (!this.view.hasNode(key)) this.focus(key);
    else this.showNode(key);
  }

  private async showNode(key: string): Promise<void> {
    this.parts.box.scrollIntoView({ block: "nearest" });
    await this.select(key);
    await this.renderer.centreOn(key);
  }

  /** Runs the action of a key; returns whether the key has one. */
  press(key: string): boolean {
    const actions: Record<string, () => unknown> = {
      ArrowLeft: () => this.renderer.pan(-1, 0),
      ArrowRight: () => this.renderer.pan(1, 0),
      ArrowUp: () => this.renderer.pan(0, 1),
      ArrowDown: () => this.renderer.pan(0, -1),
      "+": () => this.renderer.zoom(1 / 1.5),
      "=": () => this.renderer.zoom(1 / 1.5),
      "-": () => this.renderer.zoom(1.5),
      f: () => this.fit(),
      "0": () => this.fit(),
      n: () => this.step(1),
      p: () => this.step(-1),
      Enter: () => this.state.selected && this.expand(this.state.selected),
      Escape: () => this.select(null),
    };
    actions[key]?.();
    return key in actions;
  }

  fit(): void {
    this.renderer.move(null);
  }

  zoom(factor: number): void {
    this.renderer.zoom(factor);
  }

  /** Selects the next or the previous node by rank. */
  private step(way: 1 | -1): void {
    const keys = keysByRank(this.view).filter((key) => !this.renderer.isHidden(key));
    const index = this.state.selected ? keys.indexOf(this.state.selected) : way > 0 ? -1 : 0;
    const next = keys[(index + way + keys.length) % keys.length];
    if (next !== undefined) this.showNode(next);
  }

  /** Saves the view as a file. */
  async save(form: "png" | "svg" | "gexf"): Promise<void> {
    const picture = this.renderer.picture(this.title());
    const name = `gossamer-${this.level}.${form}`;
    if (form === "png") download(await toPng(picture, 2), name);
    else if (form === "svg") download(new Blob([toSvg(picture)], { type: "image/svg+xml" }), name);
    else {
      const text = toGexf(this.view, (key) => this.renderer.appearance(key), this.title());
      download(new Blob([text], { type: "application/gexf+xml" }), name);
    }
    this.setStatus(`Saved as ${name}.`);
  }

  /** Writes the camera to the URL when it rests, without a step for the back button. */
  private cameraMoved(camera: Camera): void {
    clearTimeout(this.settling);
    if (!this.tracksCamera) return;
    this.settling = window.setTimeout(() => {
      const isDefault = camera.x === 0.5 && camera.y === 0.5 && camera.ratio === 1;
      this.state = { ...this.state, camera: isDefault ? null : camera };
      history.replaceState(null, "", address(this.state));
    }, CAMERA_PAUSE);
  }

  // -- the page ------------------------------------------------------------------------------------------------------

  private get level(): Level {
    return this.base?.level ?? this.state.level ?? "hosts";
  }

  private get colouring(): Colouring {
    if (this.state.colour) return this.state.colour;
    const hosts = new Set(this.view.mapNodes((_, node) => node.host));
    return this.level === "pages" && hosts.size > 1 ? "host" : "community";
  }

  /** Updates the page to a state. `restore`: moves the camera even if the nodes stay the same. */
  private async show(next: State, restore: boolean): Promise<void> {
    const turn = ++this.turn;
    clearTimeout(this.settling);
    this.state = next;
    this.publishState("loading");
    try {
      const fresh = await this.loadView(next, () => turn === this.turn);
      if (turn !== this.turn) return;
      this.fillPage();
      if (fresh || restore) await this.restoreCamera(next.camera, fresh);
      if (turn === this.turn) this.publishState("ready");
    } catch (error) {
      if (turn !== this.turn) return;
      this.publishState("error");
      const text = error instanceof Error ? error.message : String(error);
      this.setStatus(text);
      this.showNotice(text);
    }
  }

  /** Fills the view with the nodes of a state; returns whether its base changed. */
  private async loadView(state: State, wanted: () => boolean): Promise<boolean> {
    const baseKey = JSON.stringify(baseQuery(state));
    const viewKey = JSON.stringify([baseKey, state.expanded]);
    if (viewKey === this.loaded) return false;
    const base = await this.cached(baseKey, () => getJson<GraphAnswer>(this.paths.graph, baseQuery(state)));
    const expansions: [string, NeighboursAnswer][] = [];
    for (const key of state.expanded) {
      if (!wanted()) return false;
      fillView(this.view, base, expansions);
      expansions.push([key, await this.neighbours(baseKey, base.level, key)]);
    }
    if (!wanted()) return false;
    const fresh = this.base !== base;
    this.base = base;
    fillView(this.view, base, []);
    if (fresh) this.renderer.fitFrame();
    fillView(this.view, base, expansions);
    this.loaded = viewKey;
    return fresh;
  }

  private neighbours(baseKey: string, level: Level, key: string): Promise<NeighboursAnswer> {
    const shown = nodeIds(this.view);
    const body = { level, key, shown, limit: NEIGHBOURS, direction: "both" };
    return this.cached(`${baseKey} ${key} ${shown}`, () => postJson<NeighboursAnswer>(this.paths.neighbours, body));
  }

  /** Returns a cached answer of the server, or fetches it. */
  private cached<Answer>(key: string, fetchAnswer: () => Promise<Answer>): Promise<Answer> {
    const known = this.answers.get(key) as Promise<Answer> | undefined;
    if (known) return known;
    const answer = fetchAnswer();
    this.answers.set(key, answer);
    answer.catch(() => this.answers.delete(key));
    for (const old of [...this.answers.keys()].slice(0, -MAX_CACHED)) this.answers.delete(old);
    return answer;
  }

  /** Moves the camera to a state without writing the URL. */
  private async restoreCamera(camera: Camera | null, fresh: boolean): Promise<void> {
    this.tracksCamera = false;
    await this.renderer.move(camera, fresh);
    this.tracksCamera = true;
  }

  private fillPage(): void {
    const { state, parts } = this;
    const selected = state.selected && this.view.hasNode(state.selected) ? state.selected : null;
    this.renderer.setStyle(this.colouring, state.size, state.off);
    this.renderer.select(selected);
    this.controls.show(state, this.level, this.colouring);
    this.fillLegend();
    this.fillPanel(selected);
    if (this.listed !== this.loaded) this.fillTable();
    this.listed = this.loaded;
    markTableRow(parts.rows, selected);
    this.setStatus(this.summary(selected));
    this.showNotice(this.view.order ? "" : this.summary(null));
  }

  private fillTable(): void {
    fillTable(this.parts.rows, this.view, this.level, (key) => this.showNode(key));
    markTableRow(this.parts.rows, this.state.selected);
  }

  private fillLegend(): void {
    fillLegend(this.parts.legend, this.renderer.classes.list, this.state.off, (off) =>
      this.navigate({ ...this.state, off }),
    );
  }

  private fillPanel(selected: string | null): void {
    if (selected === null) {
      this.parts.panel.replaceChildren();
      return;
    }
    const selection = { key: selected, level: this.level, expanded: this.state.expanded.includes(selected) };
    fillPanel(this.parts.panel, this.view, selection, {
      expand: (key) => this.expand(key),
      focus: (key) => this.focus(key),
      select: (key) => this.select(key),
    });
  }

  private title(): string {
    const where = this.state.focus ? ` around ${this.state.focus}` : this.state.host ? ` of ${this.state.host}` : "";
    return `${this.level === "hosts" ? "Hosts" : "Pages"}${where}`;
  }

  private summary(selected: string | null): string {
    if (this.view.order === 0)
      return `No links between ${this.level} are known here${this.level === "hosts" ? "; look at pages." : "."}`;
    const known = this.base ? ` of ${formatCount(this.base.known.nodes)}` : "";
    const what = `${this.title()}: ${formatCount(this.view.order)}${known} shown, with ${formatCount(this.view.size)} links.`;
    const stale = this.base?.rank_note ? ` Ranks ${this.base.rank_note}.` : "";
    const unranked = this.base?.unranked
      ? ` Not ranked yet: run ${this.parts.box.dataset.rank ?? "gossamer rank"} for communities and better ranks.`
      : stale;
    return selected ? `${what} Selected: ${this.view.getNodeAttribute(selected, "label")}.` : `${what}${unranked}`;
  }

  private describeEdge(edge: string): string {
    const [source, target] = this.view.extremities(edge).map((key) => this.view.getNodeAttribute(key, "label"));
    const weight = this.view.getEdgeAttribute(edge, "weight");
    return `${source} → ${target}: ${formatCount(weight)} ${weight === 1 ? "link" : "links"}`;
  }

  private setStatus(text: string): void {
    this.parts.status.textContent = text;
  }

  /** Shows a message in the middle of the picture. */
  private showNotice(text: string): void {
    this.parts.notice.textContent = text;
    this.parts.notice.hidden = text === "";
  }

  /** Publishes the state to style sheets and tests as data attributes. */
  private publishState(state: "loading" | "ready" | "error"): void {
    const { box } = this.parts;
    box.dataset.state = state;
    if (state !== "ready") return;
    box.dataset.nodes = String(this.view.order);
    box.dataset.edges = String(this.view.size);
    box.dataset.level = this.level;
    box.dataset.focus = this.state.focus ?? "";
    box.dataset.selected = this.state.selected ?? "";
    box.dataset.colour = this.colouring;
    box.dataset.hidden = String(this.view.filterNodes((key) => this.renderer.isHidden(key)).length);
  }
}

function address(state: State): string {
  const query = formatState(state);
  return query ? `${location.pathname}?${query}` : location.pathname;
}
