/** The form above the picture: it shows the state, and what is changed in it changes the state. */

import { combobox } from "../../../src/gossamer/web/static/combobox.js";
import { ask } from "../api.ts";
import { byId, make } from "../page.ts";
import { seen } from "../shown.ts";
import { anew, COLOURINGS, DIRECTIONS, SIZINGS, type State } from "./state.ts";
import type { Level } from "./view.ts";

interface Found {
  key: string;
  label: string;
}

export interface Steering {
  state: () => State;
  level: () => Level;
  go: (next: State) => void;
  find: (key: string) => void; // a node was looked up
  say: (text: string) => void;
}

export class Controls {
  private readonly form = byId("graph-form", HTMLFormElement);
  private readonly level = byId("level", HTMLSelectElement);
  private readonly focus = byId("focus", HTMLInputElement);
  private readonly colour = byId("colour", HTMLSelectElement);
  private readonly size = byId("size", HTMLSelectElement);
  private readonly hops = byId("hops", HTMLSelectElement);
  private readonly direction = byId("direction", HTMLSelectElement);
  private readonly nodes = byId("nodes", HTMLInputElement);

  constructor(
    private readonly steering: Steering,
    private readonly path: string,
  ) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit().catch((error: Error) => steering.say(error.message));
    });
    this.form.addEventListener("change", (event) => this.changed(event.target));
    const list = make("ul", { id: "focus-options", class: "completions", hidden: true, "aria-label": "Nodes" });
    this.focus.after(list);
    combobox<Found>({
      input: this.focus,
      list,
      find: (text, signal) => this.lookUp(text, signal),
      show: ({ key, label }) => [make("bdi", {}, seen(label)), make("small", {}, label === key ? "" : seen(key))],
      choose: ({ key }) => {
        this.focus.value = key;
        steering.find(key);
      },
    });
  }

  /** Shows a state. */
  show(state: State, level: Level, colour: string): void {
    this.level.value = level;
    this.focus.value = state.focus ?? "";
    this.colour.value = colour;
    this.size.value = state.size;
    this.hops.value = String(state.hops);
    this.direction.value = state.direction;
    this.nodes.value = String(state.nodes);
    this.hops.disabled = this.direction.disabled = state.focus === null;
  }

  private async lookUp(text: string, signal?: AbortSignal): Promise<Found[]> {
    const question = { q: text, level: this.steering.level(), limit: 10 };
    return (await ask<{ nodes: Found[] }>(this.path, question, signal)).nodes;
  }

  /** What was typed and sent off as it is: the best that is found for it; nothing: everything again. */
  private async submit(): Promise<void> {
    const text = this.focus.value.trim();
    const state = this.steering.state();
    if (text && text !== state.focus) {
      const [best] = await this.lookUp(text);
      if (best) this.steering.find(best.key);
      else this.steering.say(`Nothing here is called “${seen(text)}”.`);
    } else if (!text && state.focus) {
      this.steering.go(anew(state, { focus: null }));
    }
  }

  private changed(target: EventTarget | null): void {
    const state = this.steering.state();
    const level = this.level.value === "hosts" ? "hosts" : "pages";
    const { go } = this.steering;
    if (target === this.level) go(anew(state, { level, host: null, focus: null, colour: null }));
    else if (target === this.nodes) go(anew(state, { nodes: this.wanted() }));
    else if (target === this.hops) go(anew(state, { hops: Number(this.hops.value) }));
    else if (target === this.direction) go(anew(state, { direction: chosen(DIRECTIONS, this.direction) }));
    else if (target === this.colour) go({ ...state, colour: chosen(COLOURINGS, this.colour), off: [] });
    else if (target === this.size) go({ ...state, size: chosen(SIZINGS, this.size) });
  }

  private wanted(): number {
    const number = Math.round(Number(this.nodes.value)) || 300;
    return Math.min(2000, Math.max(1, number));
  }
}

function chosen<Word extends string>(words: readonly [Word, ...Word[]], select: HTMLSelectElement): Word {
  return words.find((word) => word === select.value) ?? words[0];
}
