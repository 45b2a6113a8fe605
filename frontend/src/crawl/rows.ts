/**
 * Rows that change in place. The server's template says what a row looks like; a row is made once, found again by its
 * key, and only texts that differ are written: nothing flickers, and what has the focus keeps it.
 */

import { byId } from "../page.ts";
import { seen } from "../shown.ts";

export interface Row {
  key: string;
  texts: Record<string, string>; // by the data-f of their elements
  link?: string; // where its a[data-f=url] leads
}

export class Rows<Thing> {
  private readonly template: HTMLTemplateElement;
  private readonly elements = new Map<string, HTMLElement>();

  constructor(
    private readonly body: HTMLElement,
    template: string,
    private readonly rowOf: (thing: Thing, now: number) => Row,
    private readonly finish: (element: HTMLElement, thing: Thing) => void = () => {},
  ) {
    this.template = byId(template, HTMLTemplateElement);
    for (const element of body.querySelectorAll<HTMLElement>(":scope > [data-key]")) {
      this.elements.set(element.dataset.key ?? "", element);
    }
  }

  /** Shows these things, in this order, and no others. */
  show(things: Thing[], now: number): void {
    const rows = new Map(things.map((thing) => [this.rowOf(thing, now).key, thing]));
    for (const [key, element] of this.elements) {
      if (rows.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    let place = this.body.firstElementChild;
    for (const [key, thing] of rows) {
      const element = this.element(key);
      write(element, this.rowOf(thing, now));
      this.finish(element, thing);
      if (element === place) place = place.nextElementSibling;
      else this.body.insertBefore(element, place);
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
    const text = seen(texts[cell.dataset.f ?? ""] ?? "");
    if (cell.textContent !== text) cell.textContent = text;
    if (link && cell instanceof HTMLAnchorElement && cell.getAttribute("href") !== link) cell.href = link;
  }
}
