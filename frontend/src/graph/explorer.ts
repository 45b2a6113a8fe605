/**
 * The explorer: one state, kept in the page's URL, decides what is shown. Whatever people do makes a new state (`go`);
 * the back button brings an old one; `show` makes the page look like it, asking the server for what is not here yet.
 */

import { ask, tell } from "../api.ts";
import { onTheme } from "../page.ts";
import { counted } from "../shown.ts";
import { Controls } from "./controls.ts";
import { gexf, png, save, svg } from "./files.ts";
import { fillLegend } from "./legend.ts";
import { fillList, markInList } from "./list.ts";
import { fillPanel } from "./panel.ts";
import { Stage } from "./stage.ts";
import { anew, baseOf, type Camera, type Colouring, formatState, parseState, type State } from "./state.ts";
import {
  byRank,
  emptyView,
  fill,
  type GraphAnswer,
  type Level,
  MOST_NODES,
  type NeighboursAnswer,
  shownIds,
} from "./view.ts";

const NEIGHBOURS = 40; // brought in at once
const REMEMBERED = 30; // answers
const SETTLED = 400; // ms after the last move of the camera

/** The parts of the page that the explorer fills. */
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
  private shown = ""; // which nodes are in the view
  private listed = ""; // ... and in the list
  private readonly view = emptyView();
  private readonly stage: Stage;
  private readonly controls: Controls;
  private readonly answers = new Map<string, Promise<unknown>>();
  private turn = 0;
  private settling = 0;
  private steady = true; // the camera stands where the state says

  constructor(
    private readonly parts: Parts,
    private readonly paths: Paths,
  ) {
    this.state = parseState(location.search);
    this.stage = new Stage(this.view, parts.canvas, {
      click: (key) => this.click(key),
      leave: () => this.select(null),
      moved: (camera) => this.moved(camera),
      tip: (edge) => this.tip(edge),
    });
    this.controls = new Controls(
      {
        state: () => this.state,
        level: () => this.level,
        go: (next) => this.go(next),
        find: (key) => this.find(key),
        say: (text) => this.say(text),
      },
      paths.find,
    );
    addEventListener("popstate", () => this.show(parseState(location.search), true));
    new ResizeObserver(() => this.stage.resize()).observe(parts.canvas);
    onTheme(() => {
      this.stage.redress();
      this.fillLegend();
    });
    this.show(this.state, true);
  }

  // -- what people do ------------------------------------------------------------------------------------------------

  /** Goes to another state: one step for the back button. */
  private go(next: State): Promise<void> {
    history.pushState(null, "", address(next));
    return this.show(next, false);
  }

  private async select(key: string | null): Promise<void> {
    if (key !== this.state.selected) await this.go({ ...this.state, selected: key });
  }

  private click(key: string): void {
    if (key === this.state.selected) this.expand(key);
    else this.select(key);
  }

  expand(key: string): void {
    if (this.state.expanded.includes(key)) return;
    if (this.view.order >= MOST_NODES) {
      this.say(`There is room for ${counted(MOST_NODES)} nodes. Show fewer, or only the surroundings of one.`);
      return;
    }
    this.go({ ...this.state, expanded: [...this.state.expanded, key], selected: key });
  }

  /** Looks at what is around a node only. */
  private focus(key: string): void {
    const host = this.level === "pages" ? this.state.host : null;
    this.go(anew(this.state, { level: this.level, host, focus: key, selected: key }));
  }

  /** A node was looked up: it is selected if it is here, else its surroundings are shown. */
  private find(key: string): void {
    if (!this.view.hasNode(key)) this.focus(key);
    else this.showNode(key);
  }

  private async showNode(key: string): Promise<void> {
    this.parts.box.scrollIntoView({ block: "nearest" });
    await this.select(key);
    await this.stage.goTo(key);
  }

  /** What a key does while the picture has the focus; whether it does anything. */
  press(key: string): boolean {
    const deeds: Record<string, () => unknown> = {
      ArrowLeft: () => this.stage.shift(-1, 0),
      ArrowRight: () => this.stage.shift(1, 0),
      ArrowUp: () => this.stage.shift(0, 1),
      ArrowDown: () => this.stage.shift(0, -1),
      "+": () => this.stage.zoom(1 / 1.5),
      "=": () => this.stage.zoom(1 / 1.5),
      "-": () => this.stage.zoom(1.5),
      f: () => this.fit(),
      "0": () => this.fit(),
      n: () => this.step(1),
      p: () => this.step(-1),
      Enter: () => this.state.selected && this.expand(this.state.selected),
      Escape: () => this.select(null),
    };
    deeds[key]?.();
    return key in deeds;
  }

  fit(): void {
    this.stage.move(null);
  }

  zoom(factor: number): void {
    this.stage.zoom(factor);
  }

  /** Selects the next or the previous node, by rank. */
  private step(way: 1 | -1): void {
    const keys = byRank(this.view).filter((key) => !this.stage.hidden(key));
    const place = this.state.selected ? keys.indexOf(this.state.selected) : way > 0 ? -1 : 0;
    const next = keys[(place + way + keys.length) % keys.length];
    if (next !== undefined) this.showNode(next);
  }

  /** Saves the view as a file. */
  async save(form: "png" | "svg" | "gexf"): Promise<void> {
    const picture = this.stage.picture(this.title());
    const name = `gossamer-${this.level}.${form}`;
    if (form === "png") save(await png(picture, 2), name);
    else if (form === "svg") save(new Blob([svg(picture)], { type: "image/svg+xml" }), name);
    else {
      const text = gexf(this.view, (key) => this.stage.looks(key), this.title());
      save(new Blob([text], { type: "application/gexf+xml" }), name);
    }
    this.say(`Saved as ${name}.`);
  }

  /** The camera came to rest: the URL says where, without a step for the back button. */
  private moved(camera: Camera): void {
    clearTimeout(this.settling);
    if (!this.steady) return;
    this.settling = window.setTimeout(() => {
      const still = camera.x === 0.5 && camera.y === 0.5 && camera.ratio === 1;
      this.state = { ...this.state, camera: still ? null : camera };
      history.replaceState(null, "", address(this.state));
    }, SETTLED);
  }

  // -- what is shown -------------------------------------------------------------------------------------------------

  private get level(): Level {
    return this.base?.level ?? this.state.level ?? "hosts";
  }

  private get colouring(): Colouring {
    if (this.state.colour) return this.state.colour;
    const hosts = new Set(this.view.mapNodes((_, node) => node.host));
    return this.level === "pages" && hosts.size > 1 ? "host" : "community";
  }

  /** Makes the page look like a state. `restore`: with the camera where it says, even when the nodes are the same. */
  private async show(next: State, restore: boolean): Promise<void> {
    const turn = ++this.turn;
    clearTimeout(this.settling);
    this.state = next;
    this.mark("loading");
    try {
      const fresh = await this.gather(next, () => turn === this.turn);
      if (turn !== this.turn) return;
      this.fillPage();
      if (fresh || restore) await this.place(next.camera, fresh);
      if (turn === this.turn) this.mark("ready");
    } catch (error) {
      if (turn !== this.turn) return;
      this.mark("error");
      const text = error instanceof Error ? error.message : String(error);
      this.say(text);
      this.announce(text);
    }
  }

  /** Fills the view with the nodes of a state; whether it has another base than before. */
  private async gather(state: State, wanted: () => boolean): Promise<boolean> {
    const question = JSON.stringify(baseOf(state));
    const wish = JSON.stringify([question, state.expanded]);
    if (wish === this.shown) return false;
    const base = await this.remembered(question, () => ask<GraphAnswer>(this.paths.graph, baseOf(state)));
    const expansions: [string, NeighboursAnswer][] = [];
    for (const key of state.expanded) {
      if (!wanted()) return false;
      fill(this.view, base, expansions);
      expansions.push([key, await this.neighbours(question, base.level, key)]);
    }
    if (!wanted()) return false;
    const fresh = this.base !== base;
    this.base = base;
    fill(this.view, base, []);
    if (fresh) this.stage.frame();
    fill(this.view, base, expansions);
    this.shown = wish;
    return fresh;
  }

  private neighbours(question: string, level: Level, key: string): Promise<NeighboursAnswer> {
    const shown = shownIds(this.view);
    const wish = { level, key, shown, limit: NEIGHBOURS, direction: "both" };
    return this.remembered(`${question} ${key} ${shown}`, () => tell<NeighboursAnswer>(this.paths.neighbours, wish));
  }

  /** An answer of the server, asked for once. */
  private remembered<Answer>(question: string, find: () => Promise<Answer>): Promise<Answer> {
    const known = this.answers.get(question) as Promise<Answer> | undefined;
    if (known) return known;
    const asked = find();
    this.answers.set(question, asked);
    asked.catch(() => this.answers.delete(question));
    for (const old of [...this.answers.keys()].slice(0, -REMEMBERED)) this.answers.delete(old);
    return asked;
  }

  /** Moves the camera where a state says: no news for the URL. */
  private async place(camera: Camera | null, fresh: boolean): Promise<void> {
    this.steady = false;
    await this.stage.move(camera, fresh);
    this.steady = true;
  }

  private fillPage(): void {
    const { state, parts } = this;
    const selected = state.selected && this.view.hasNode(state.selected) ? state.selected : null;
    this.stage.dress(this.colouring, state.size, state.off);
    this.stage.select(selected);
    this.controls.show(state, this.level, this.colouring);
    this.fillLegend();
    this.fillPanel(selected);
    if (this.listed !== this.shown) fillList(parts.rows, this.view, this.level, (key) => this.showNode(key));
    this.listed = this.shown;
    markInList(parts.rows, selected);
    this.say(this.summary(selected));
    this.announce(this.view.order ? "" : this.summary(null));
  }

  private fillLegend(): void {
    fillLegend(this.parts.legend, this.stage.classes.list, this.state.off, (off) => this.go({ ...this.state, off }));
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
    const known = this.base ? ` of ${counted(this.base.known.nodes)}` : "";
    const what = `${this.title()}: ${counted(this.view.order)}${known} shown, with ${counted(this.view.size)} links.`;
    const unranked = this.base?.unranked ? " Not ranked yet: run gossamer rank for communities and better ranks." : "";
    return selected ? `${what} Selected: ${this.view.getNodeAttribute(selected, "label")}.` : `${what}${unranked}`;
  }

  private tip(edge: string): string {
    const [source, target] = this.view.extremities(edge).map((key) => this.view.getNodeAttribute(key, "label"));
    const weight = this.view.getEdgeAttribute(edge, "weight");
    return `${source} → ${target}: ${counted(weight)} ${weight === 1 ? "link" : "links"}`;
  }

  private say(text: string): void {
    this.parts.status.textContent = text;
  }

  /** Says in the middle of the picture why there is none. */
  private announce(text: string): void {
    this.parts.notice.textContent = text;
    this.parts.notice.hidden = text === "";
  }

  /** What tests and style sheets may know of the state. */
  private mark(state: "loading" | "ready" | "error"): void {
    const { box } = this.parts;
    box.dataset.state = state;
    if (state !== "ready") return;
    box.dataset.nodes = String(this.view.order);
    box.dataset.edges = String(this.view.size);
    box.dataset.level = this.level;
    box.dataset.focus = this.state.focus ?? "";
    box.dataset.selected = this.state.selected ?? "";
    box.dataset.colour = this.colouring;
    box.dataset.hidden = String(this.view.filterNodes((key) => this.stage.hidden(key)).length);
  }
}

function address(state: State): string {
  const query = formatState(state);
  return query ? `${location.pathname}?${query}` : location.pathname;
}
