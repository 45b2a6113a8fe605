/** The form above the picture. It shows the state, and its fields change the state. */

import { combobox } from "../../../src/gossamer/web/static/combobox.js";
import { getJson } from "../api.ts";
import { escapeHidden } from "../display.ts";
import { byId, createElement } from "../dom.ts";
import { COLOURINGS, DIRECTIONS, SIZINGS, type State, withNewBase } from "./state.ts";
import type { Level } from "./view.ts";

interface NodeMatch {
  key: string;
  label: string;
}

export interface ControlHandlers {
  state: () => State;
  level: () => Level;
  navigate: (next: State) => void;
  find: (key: string) => void; // selects or focuses a node
  report: (text: string) => void;
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
    private readonly handlers: ControlHandlers,
    private readonly path: string,
  ) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit().catch((error: Error) => handlers.report(error.message));
    });
    this.form.addEventListener("change", (event) => this.onChange(event.target));
    const list = createElement("ul", {
      id: "focus-options",
      class: "completions",
      hidden: true,
      "aria-label": "Nodes",
    });
    this.focus.after(list);
    combobox<NodeMatch>({
      input: this.focus,
      list,
      find: (text, signal) => this.lookUp(text, signal),
      show: ({ key, label }) => [
        createElement("bdi", {}, escapeHidden(label)),
        createElement("small", {}, label === key ? "" : escapeHidden(key)),
      ],
      choose: ({ key }) => {
        this.focus.value = key;
        handlers.find(key);
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

  private async lookUp(text: string, signal?: AbortSignal): Promise<NodeMatch[]> {
    const query = { q: text, level: this.handlers.level(), limit: 10 };
    return (await getJson<{ nodes: NodeMatch[] }>(this.path, query, signal)).nodes;
  }

  /** Goes to the best match for the typed text; empty text removes the focus. */
  private async submit(): Promise<void> {
    const text = this.focus.value.trim();
    const state = this.handlers.state();
    if (text && text !== state.focus) {
      const [best] = await this.lookUp(text);
      if (best) this.handlers.find(best.key);
      else this.handlers.report(`No node matches “${escapeHidden(text)}”.`);
    } else if (!text && state.focus) {
      this.handlers.navigate(withNewBase(state, { focus: null }));
    }
  }

  private onChange(target: EventTarget | null): void {
    const state = this.handlers.state();
    const level = this.level.value === "hosts" ? "hosts" : "pages";
    const { navigate } = this.handlers;
    if (target === this.level) navigate(withNewBase(state, { level, host: null, focus: null, colour: null }));
    else if (target === this.nodes) navigate(withNewBase(state, { nodes: this.nodeCount() }));
    else if (target === this.hops) navigate(withNewBase(state, { hops: Number(this.hops.value) }));
    else if (target === this.direction)
      navigate(withNewBase(state, { direction: selectedOption(DIRECTIONS, this.direction) }));
    else if (target === this.colour) navigate({ ...state, colour: selectedOption(COLOURINGS, this.colour), off: [] });
    else if (target === this.size) navigate({ ...state, size: selectedOption(SIZINGS, this.size) });
  }

  private nodeCount(): number {
    const number = Math.round(Number(this.nodes.value)) || 300;
    return Math.min(2000, Math.max(1, number));
  }
}

function selectedOption<Word extends string>(words: readonly [Word, ...Word[]], select: HTMLSelectElement): Word {
  return words.find((word) => word === select.value) ?? words[0];
}
