/** The elements of a page that the server rendered, and small ways to fill them without ever parsing text as HTML. */

/** The element of an id. It is the server's part to render it: without it nothing here can work. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no #${id}.`);
  return element;
}

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | null>;

/** An element with attributes (true: present, false and null: absent) and children; strings become text. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** A button that does something. */
export function button(text: Child, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", press);
  return element;
}

/** Whether people asked for less motion. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Calls back when the page turns dark or light, by the system's wish or by the page's own switch. */
export function onTheme(callback: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
  new MutationObserver(callback).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** The value of a custom property of the page's style sheet, such as `--ink`. */
export function property(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
