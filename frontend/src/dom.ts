/** Helpers for the DOM. None of them parses text as HTML. */

/** Returns the element with an id; throws if the server did not render it. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no #${id}.`);
  return element;
}

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | null>;

/** Creates an element with attributes (true: present, false and null: absent) and children; strings become text. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
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

/** Creates a button with a click handler. */
export function createButton(text: Child, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = createElement("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", press);
  return element;
}

/** Whether the user asked for less motion. */
export function prefersReducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Calls back when the page turns dark or light, by the system's setting or by the `data-theme` of the page. */
export function onThemeChange(callback: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
  new MutationObserver(callback).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** Returns the value of a custom property of the style sheet, such as `--ink`. */
export function cssVariable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
