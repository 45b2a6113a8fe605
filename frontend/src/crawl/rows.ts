/**
 * Rows that change in place. The server renders a template of a row. Each row is created once and found by its key. Only
 * texts that differ are written, so that nothing flickers and focus stays where it is.
 */

import { escapeHidden } from "../display.ts";
import { byId } from "../dom.ts";

export interface Row {
  key: string;
  texts: Record<string, string>; // data-f of an element -> its text
  link?: string; // the href of its a[data-f=url]
}

export class Rows<Item> {
  private readonly template: HTMLTemplateElement;
  private readonly elements = new Map<string, HTMLElement>();

  constructor(
    private readonly body: HTMLElement,
    template: string,
    private readonly rowOf: (item: Item, now: number) => Row,
    private readonly finish: (element: HTMLElement, item: Item) => void = () => {},
  ) {
    this.template = byId(template, HTMLTemplateElement);
    for (const element of body.querySelectorAll<HTMLElement>(":scope > [data-key]")) {
      this.elements.set(element.dataset.key ?? "", element);
    }
  }

  /** Shows exactly these items, in this order. */
  show(items: Item[], now: number): void {
    const rows = new Map(items.map((item) => [this.rowOf(item, now).key, item]));
    for (const [key, element] of this.elements) {
      if (rows.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    let next = this.body.firstElementChild;
    for (const [key, item] of rows) {
      const element = this.element(key);
      write(element, this.rowOf(item, now));
      this.finish(element, item);
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
  }

  private element(key: string): HTMLElement {
    const known = this.elements.get(key);
    if (known) return known;
    const copy = this.template.content.firstElementChild?.cloneNode(true);
    if (!(copy instanceof HTMLElement)) throw new Error(`The template #${this.template.id} is empty.`);
    copy.dataset.key = key;
    this.elements.set(key, copy);
    return copy;
  }
}

function write(element: HTMLElement, { texts, link }: Row): void {
  for (const cell of element.querySelectorAll<HTMLElement>("[data-f]")) {
    const text = escapeHidden(texts[cell.dataset.f ?? ""] ?? "");
    if (cell.textContent !== text) cell.textContent = text;
    if (link && cell instanceof HTMLAnchorElement && cell.getAttribute("href") !== link) cell.href = link;
  }
}
