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
  private readonly host = byId("host", HTMLInputElement);
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
    this.suggest(this.focus, "Nodes", handlers.level, (key) => handlers.find(key));
    this.suggest(
      this.host,
      "Hosts",
      () => "hosts",
      (key) => this.filterHost(key),
    );
  }

  /** Suggests nodes of a level in a text field. */
  private suggest(input: HTMLInputElement, name: string, level: () => Level, choose: (key: string) => void): void {
    const list = createElement("ul", {
      id: `${input.id}-options`,
      class: "completions",
      hidden: true,
      "aria-label": name,
    });
    input.after(list);
    combobox<NodeMatch>({
      input,
      list,
      find: (text, signal) => this.lookUp(text, level(), signal),
      show: ({ key, label }) => [
        createElement("bdi", {}, escapeHidden(label)),
        createElement("small", {}, label === key ? "" : escapeHidden(key)),
      ],
      choose: ({ key }) => {
        input.value = key;
        choose(key);
      },
    });
  }

  /** Shows the pages of one host; of all hosts for an empty name. */
  private filterHost(host: string): void {
    const state = this.handlers.state();
    if ((state.host ?? "") !== host)
      this.handlers.navigate(withNewBase(state, { level: "pages", host: host || null, focus: null }));
  }

  /** Shows a state. */
  show(state: State, level: Level, colour: string): void {
    this.level.value = level;
    this.focus.value = state.focus ?? "";
    this.host.value = state.host ?? "";
    if (this.host.parentElement) this.host.parentElement.hidden = level === "hosts";
    this.colour.value = colour;
    this.size.value = state.size;
    this.hops.value = String(state.hops);
    this.direction.value = state.direction;
    this.nodes.value = String(state.nodes);
    this.hops.disabled = this.direction.disabled = state.focus === null;
  }

  private async lookUp(text: string, level: Level, signal?: AbortSignal): Promise<NodeMatch[]> {
    const query = { q: text, level, limit: 10 };
    return (await getJson<{ nodes: NodeMatch[] }>(this.path, query, signal)).nodes;
  }

  /** Goes to the best match for the typed text, or filters by the typed host; empty text removes the focus. */
  private async submit(): Promise<void> {
    const text = this.focus.value.trim();
    const state = this.handlers.state();
    if (this.host.value.trim() !== (state.host ?? "")) {
      await this.submitHost(this.host.value.trim());
      return;
    }
    if (text && text !== state.focus) {
      const [best] = await this.lookUp(text, this.handlers.level());
      if (best) this.handlers.find(best.key);
      else this.handlers.report(`No node matches “${escapeHidden(text)}”.`);
    } else if (!text && state.focus) {
      this.handlers.navigate(withNewBase(state, { focus: null }));
    }
  }

  /** Shows the pages of the host that fits the typed text best. */
  private async submitHost(text: string): Promise<void> {
    const [best] = text ? await this.lookUp(text, "hosts") : [];
    if (text && !best) this.handlers.report(`No host matches “${escapeHidden(text)}”.`);
    else this.filterHost(best?.key ?? "");
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
