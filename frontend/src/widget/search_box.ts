/**
 * The search box: a button, and a dialog with hits while one types. Its elements are in a shadow root and its styles in a
 * constructed style sheet, so the page's styles do not reach it, and a content security policy needs no exception.
 */

import { createButton, createElement } from "../dom.ts";
import { magnifier } from "./icon.ts";
import { fill, type Options } from "./options.ts";
import { type FoundPage, findPages, MOST_PAGES, queryFor, snippetPieces } from "./pages.ts";
import { followTheme } from "./theme.ts";
import css from "./widget.css?inline";

const PAUSE_MS = 120; // without a key, before a request

export class SearchBox {
  readonly host = createElement("div", { class: "gossamer-search" });
  private readonly root = this.host.attachShadow({ mode: "open" });
  private readonly dialog: HTMLDialogElement;
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private readonly status: HTMLElement;
  private readonly all: HTMLAnchorElement;
  private pages: FoundPage[] = [];
  private active = -1;
  private timer = 0;
  private request = new AbortController();

  constructor(private readonly options: Options) {
    const { texts } = options;
    this.input = createElement("input", {
      type: "search",
      role: "combobox",
      "aria-label": texts.title,
      "aria-autocomplete": "list",
      "aria-controls": "pages",
      "aria-expanded": "false",
      placeholder: texts.placeholder,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      maxlength: 500,
    });
    this.list = createElement("div", { id: "pages", role: "listbox", "aria-label": texts.title, hidden: true });
    this.status = createElement("p", { role: "status" });
    this.all = createElement("a", { class: "all", target: "_blank", rel: "noopener", hidden: true }, texts.all);
    this.dialog = this.createDialog();
    this.addStyles();
    this.host.lang = options.language;
    followTheme(this.host, options.theme);
    this.root.append(...this.openButton(), this.dialog);
    document.addEventListener("keydown", (event) => this.pressOnPage(event));
  }

  private addStyles(): void {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.root.adoptedStyleSheets = [sheet];
  }

  private createDialog(): HTMLDialogElement {
    const { texts } = this.options;
    const close = createButton(texts.close, () => this.dialog.close(), { class: "close" });
    const head = createElement("div", { class: "head", role: "search" }, magnifier(), this.input, close);
    const foot = createElement("div", { class: "foot" }, this.status, this.all);
    const dialog = createElement("dialog", { "aria-label": texts.title }, head, this.list, foot);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // the backdrop belongs to the dialog
    });
    dialog.addEventListener("close", () => this.cancel());
    this.input.addEventListener("input", () => this.scheduleSearch());
    this.input.addEventListener("keydown", (event) => {
      if (!event.isComposing && this.press(event)) event.preventDefault();
    });
    return dialog;
  }

  /** Returns the button of the box; none if the page has its own. */
  private openButton(): HTMLElement[] {
    const { button, key, texts } = this.options;
    const own = button ? document.querySelector(button) : null;
    if (own) {
      own.addEventListener("click", () => this.open());
      return [];
    }
    const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
    const shortcut = key
      ? [createElement("kbd", {}, isApple ? `⌘${key.toUpperCase()}` : `Ctrl ${key.toUpperCase()}`)]
      : [];
    const keys = key ? `${isApple ? "Meta" : "Control"}+${key.toUpperCase()}` : null;
    const attributes = { class: "open", "aria-haspopup": "dialog", "aria-keyshortcuts": keys };
    const element = createButton(magnifier(), () => this.open(), attributes);
    element.append(createElement("span", {}, texts.button), ...shortcut);
    return [element];
  }

  open(): void {
    if (!this.dialog.open) this.dialog.showModal();
    this.input.focus();
    this.input.select();
  }

  // -- keys ----------------------------------------------------------------------------------------------------------

  private pressOnPage(event: KeyboardEvent): void {
    const { key } = this.options;
    if (!key || this.dialog.open || event.isComposing) return;
    const withControl = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === key;
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event);
    if (!withControl && !slash) return;
    event.preventDefault();
    this.open();
  }

  /** Handles a key in the text field; returns whether it had an effect. */
  private press(event: KeyboardEvent): boolean {
    const last = this.pages.length - 1;
    if (event.key === "ArrowDown" && last >= 0) this.activate(this.active < last ? this.active + 1 : 0);
    else if (event.key === "ArrowUp" && last >= 0) this.activate(this.active > 0 ? this.active - 1 : last);
    else if (event.key === "Enter") this.accept(event);
    else if (event.key === "Escape")
      this.dialog.close(); // a search field would only clear itself
    else return false;
    return true;
  }

  private accept(event: KeyboardEvent): void {
    const page = this.pages[this.active];
    if (!page) return;
    if (event.ctrlKey || event.metaKey) window.open(page.url, "_blank", "noopener");
    else location.assign(page.url);
  }

  private activate(index: number): void {
    this.cancel(); // a late answer would replace the list
    const { children } = this.list;
    children[this.active]?.setAttribute("aria-selected", "false");
    this.active = index;
    const chosen = children[index];
    if (!chosen) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", chosen.id);
  }

  // -- searching -----------------------------------------------------------------------------------------------------

  private cancel(): void {
    clearTimeout(this.timer);
    this.request.abort();
  }

  private scheduleSearch(): void {
    this.cancel();
    this.timer = window.setTimeout(() => this.search(), PAUSE_MS);
  }

  private async search(): Promise<void> {
    const text = this.input.value.trim();
    this.request = new AbortController();
    const { signal } = this.request;
    if (!text) {
      this.show([], "");
      this.all.hidden = true;
      return;
    }
    this.all.href = `${this.options.base}search?${new URLSearchParams({ q: queryFor(text, this.options) })}`;
    this.all.hidden = false;
    const { texts } = this.options;
    try {
      const pages = await findPages(text, this.options, signal);
      if (signal.aborted) return;
      const count = pages.length === MOST_PAGES ? `${MOST_PAGES}+` : String(pages.length);
      this.show(pages, fill(pages.length ? texts.results : texts.none, { count, query: text }));
    } catch (error) {
      if (signal.aborted) return; // a newer request replaced it
      this.show([], texts.failed);
      if (!(error instanceof Error)) throw error;
    }
  }

  /** Shows pages with the first one selected, as Enter opens it. */
  private show(pages: FoundPage[], message: string): void {
    this.pages = pages;
    this.active = -1;
    this.list.replaceChildren(...pages.map((page, index) => this.option(page, index)));
    this.list.hidden = pages.length === 0;
    this.input.setAttribute("aria-expanded", String(pages.length > 0));
    this.status.textContent = message;
    this.activate(pages.length ? 0 : -1);
  }

  private option(page: FoundPage, index: number): HTMLElement {
    const snippet = snippetPieces(page.snippet).map(({ text, marked }) =>
      marked ? createElement("mark", {}, text) : text,
    );
    const item = createElement(
      "a",
      { id: `page-${index}`, role: "option", "aria-selected": "false", tabindex: -1, href: page.url },
      createElement("span", { class: "title", dir: "auto" }, page.title || page.url),
      createElement("span", { class: "snippet", dir: "auto" }, ...snippet),
      createElement("span", { class: "address" }, page.url.replace(/^https?:\/\//, "")),
    );
    item.addEventListener("mousemove", () => {
      if (this.active !== index) this.activate(index);
    });
    return item;
  }
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
