/** The legend: one switch for each class of nodes. */

import { button, make } from "../page.ts";
import { counted } from "../shown.ts";
import type { Class } from "./classes.ts";

export function fillLegend(box: HTMLElement, classes: Class[], off: string[], turn: (off: string[]) => void): void {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.class : undefined;
  const hidden = new Set(off);
  const switches = classes.map(({ id, name, colour, count }) => {
    const swatch = make("span", { class: "graph-swatch", "aria-hidden": "true" });
    swatch.style.backgroundColor = hidden.has(id) ? "transparent" : colour;
    swatch.style.borderColor = colour;
    const toggle = (): void => turn(hidden.has(id) ? off.filter((other) => other !== id) : [...off, id]);
    const shown = String(!hidden.has(id));
    const text = make("span", { class: "graph-class" }, name);
    const element = button(swatch, toggle, { "data-class": id, "aria-pressed": shown });
    element.append(text, make("span", { class: "graph-count" }, counted(count)));
    return make("li", {}, element);
  });
  const all = off.length ? [button("Show all", () => turn([]), { class: "graph-all plain", "data-class": "*" })] : [];
  box.replaceChildren(make("ul", { class: "graph-classes" }, ...switches), ...all);
  if (focused !== undefined) {
    const same = [...box.querySelectorAll<HTMLElement>("[data-class]")].find((one) => one.dataset.class === focused);
    (same ?? box.querySelector<HTMLElement>("button"))?.focus();
  }
}
