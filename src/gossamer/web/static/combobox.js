/**
 * A text box with completions, after the ARIA combobox pattern (WAI-ARIA APG, "editable combobox with list autocomplete").
 * It sends one request for each pause in typing, and drops the answers to older ones.
 * Plain JavaScript, so that it works without a build; tsc checks its types.
 */

const PAUSE_MS = 90; // without a key, before a request

/**
 * @template Option
 * @typedef {object} ComboboxOptions
 * @property {HTMLInputElement} input the text box
 * @property {HTMLElement} list the element of the options; has an id
 * @property {(text: string, signal: AbortSignal) => Promise<Option[]>} find returns the options for a text
 * @property {(option: Option) => (Node | string)[]} show returns the content of an option; strings become text
 * @property {(option: Option) => void} choose handles the choice of an option
 */

/**
 * Turns a text box into a combobox.
 * @template Option
 * @param {ComboboxOptions<Option>} settings
 */
export function combobox(settings) {
  new Combobox(settings).start();
}

/** @template Option */
class Combobox {
  /** @type {Option[]} */
  options = [];
  active = -1;
  timer = 0;
  request = new AbortController();

  /** @param {ComboboxOptions<Option>} settings */
  constructor(settings) {
    this.settings = settings;
    this.input = settings.input;
    this.list = settings.list;
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
      this.cancelPending();
      this.timer = window.setTimeout(() => this.search(), PAUSE_MS);
    });
    input.addEventListener("blur", () => this.close());
    // A pointer on a canvas does not take the focus away, so there is no blur.
    document.addEventListener("pointerdown", (event) => {
      if (event.target instanceof Node && event.target !== input && !list.contains(event.target)) this.close();
    });
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (this.press(event.key)) event.preventDefault();
      else if (["Enter", "Escape", "Tab"].includes(event.key)) this.close(); // also drops a late answer
    });
  }

  /**
   * Handles a key; returns whether it had an effect.
   * @param {string} key
   */
  press(key) {
    const last = this.options.length - 1;
    if (key === "ArrowDown" && last < 0) this.search();
    else if (key === "ArrowDown") this.moveTo(this.active < last ? this.active + 1 : -1);
    else if (key === "ArrowUp" && last >= 0) this.moveTo(this.active === -1 ? last : this.active - 1);
    else if (key === "Enter" && this.active >= 0) this.accept(this.active);
    else if (key === "Escape" && last >= 0) this.close();
    else return false;
    return true;
  }

  async search() {
    this.cancelPending(); // an arrow may ask before the pause is over
    this.request = new AbortController();
    const { signal } = this.request;
    const text = this.input.value;
    if (!text.trim()) {
      this.close();
      return;
    }
    try {
      const options = await this.settings.find(text, signal);
      if (!signal.aborted && document.activeElement === this.input) this.open(options);
    } catch (error) {
      if (signal.aborted) return; // a newer request replaced it
      this.close(); // without an answer of the server there are no suggestions
      if (!(error instanceof Error)) throw error;
    }
  }

  /** @param {Option[]} options */
  open(options) {
    this.options = options;
    this.active = -1;
    this.list.replaceChildren(...options.map((option, index) => this.item(option, index)));
    this.list.hidden = options.length === 0;
    this.input.setAttribute("aria-expanded", String(options.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.cancelPending();
    this.open([]);
  }

  /** Cancels the open request and the timer. */
  cancelPending() {
    this.request.abort();
    clearTimeout(this.timer);
  }

  /**
   * @param {Option} option
   * @param {number} index
   */
  item(option, index) {
    const item = document.createElement("li");
    item.id = `${this.list.id}-${index}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(...this.settings.show(option));
    item.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the box
    item.addEventListener("click", () => this.accept(index));
    return item;
  }

  /**
   * Moves to an option by key. Cancels open requests, because a late answer would replace the list.
   * @param {number} index
   */
  moveTo(index) {
    this.cancelPending();
    this.activate(index);
  }

  /** @param {number} index */
  activate(index) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = index;
    const chosen = this.list.children[index];
    if (!chosen) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", chosen.id);
  }

  /** @param {number} index */
  accept(index) {
    const option = this.options[index];
    this.close();
    if (option !== undefined) this.settings.choose(option);
  }
}
