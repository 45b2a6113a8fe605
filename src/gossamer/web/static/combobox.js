/**
 * A text box that offers completions as one types, after the ARIA combobox pattern (WAI-ARIA APG, "editable combobox with
 * list autocomplete"). Plain JavaScript, so that it works where Node never built anything; its types are checked by tsc.
 */

const PAUSE = 90; // ms without a key before asking

/**
 * @template Option
 * @typedef {object} Wishes
 * @property {HTMLInputElement} input the text box
 * @property {HTMLElement} list where the options go: an element with an id
 * @property {(text: string, signal: AbortSignal) => Promise<Option[]>} find what to offer for a text
 * @property {(option: Option) => (Node | string)[]} show what an option looks like; strings become text
 * @property {(option: Option) => void} choose what happens when an option is taken
 */

/**
 * Makes a text box a combobox.
 * @template Option
 * @param {Wishes<Option>} wishes
 */
export function combobox(wishes) {
  new Combobox(wishes).start();
}

/** @template Option */
class Combobox {
  /** @type {Option[]} */
  options = [];
  active = -1;
  timer = 0;
  asking = new AbortController();

  /** @param {Wishes<Option>} wishes */
  constructor(wishes) {
    this.wishes = wishes;
    this.input = wishes.input;
    this.list = wishes.list;
  }

  start() {
    const { input, list } = this;
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", list.id);
    input.setAttribute("autocomplete", "off");
    list.setAttribute("role", "listbox");
    if (!list.hasAttribute("aria-label")) list.setAttribute("aria-label", "Suggestions");
    this.close();
    input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.ask(), PAUSE);
    });
    input.addEventListener("blur", () => this.close());
    input.addEventListener("keydown", (event) => {
      if (!event.isComposing && this.press(event.key)) event.preventDefault();
    });
  }

  /**
   * Whether a key did something.
   * @param {string} key
   */
  press(key) {
    const last = this.options.length - 1;
    if (key === "ArrowDown" && last < 0) this.ask();
    else if (key === "ArrowDown") this.walk(this.active < last ? this.active + 1 : -1);
    else if (key === "ArrowUp" && last >= 0) this.walk(this.active === -1 ? last : this.active - 1);
    else if (key === "Enter" && this.active >= 0) this.take(this.active);
    else if (key === "Escape" && last >= 0) this.close();
    else return false;
    return true;
  }

  async ask() {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const text = this.input.value;
    if (!text.trim()) {
      this.close();
      return;
    }
    try {
      const found = await this.wishes.find(text, signal);
      if (!signal.aborted && document.activeElement === this.input) this.open(found);
    } catch (error) {
      if (signal.aborted) return; // a newer question took its place
      this.close(); // the server is away or refuses: one can type on without suggestions
      if (!(error instanceof Error)) throw error;
    }
  }

  /** @param {Option[]} found */
  open(found) {
    this.options = found;
    this.active = -1;
    this.list.replaceChildren(...found.map((option, place) => this.item(option, place)));
    this.list.hidden = found.length === 0;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.settle();
    this.open([]);
  }

  /** What is still on its way no longer counts. */
  settle() {
    this.asking.abort();
    clearTimeout(this.timer);
  }

  /**
   * @param {Option} option
   * @param {number} place
   */
  item(option, place) {
    const item = document.createElement("li");
    item.id = `${this.list.id}-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(...this.wishes.show(option));
    item.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the box
    item.addEventListener("click", () => this.take(place));
    return item;
  }

  /**
   * Goes to an option by key. A late answer must not pull the list away from under whoever walks it.
   * @param {number} place
   */
  walk(place) {
    this.settle();
    this.activate(place);
  }

  /** @param {number} place */
  activate(place) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = place;
    const chosen = this.list.children[place];
    if (!chosen) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", chosen.id);
  }

  /** @param {number} place */
  take(place) {
    const option = this.options[place];
    this.close();
    if (option !== undefined) this.wishes.choose(option);
  }
}
