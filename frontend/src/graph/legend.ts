/** The legend: one toggle button for each class of nodes. */

import { formatCount } from "../display.ts";
import { createButton, createElement } from "../dom.ts";
import type { NodeClass } from "./classes.ts";

export function fillLegend(
  box: HTMLElement,
  classes: NodeClass[],
  off: string[],
  setOff: (off: string[]) => void,
): void {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.class : undefined;
  const hidden = new Set(off);
  const switches = classes.map(({ id, name, colour, count }) => {
    const swatch = createElement("span", { class: "graph-swatch", "aria-hidden": "true" });
    swatch.style.backgroundColor = hidden.has(id) ? "transparent" : colour;
    swatch.style.borderColor = colour;
    const toggle = (): void => setOff(hidden.has(id) ? off.filter((other) => other !== id) : [...off, id]);
    const shown = String(!hidden.has(id));
    const text = createElement("span", { class: "graph-class" }, name);
    const element = createButton(swatch, toggle, { "data-class": id, "aria-pressed": shown });
    element.append(text, createElement("span", { class: "graph-count" }, formatCount(count)));
    return createElement("li", {}, element);
  });
  const all = off.length
    ? [createButton("Show all", () => setOff([]), { class: "graph-all plain", "data-class": "*" })]
    : [];
  box.replaceChildren(createElement("ul", { class: "graph-classes" }, ...switches), ...all);
  if (focused !== undefined) {
    const same = [...box.querySelectorAll<HTMLElement>("[data-class]")].find((one) => one.dataset.class === focused);
    (same ?? box.querySelector<HTMLElement>("button"))?.focus();
  }
}
