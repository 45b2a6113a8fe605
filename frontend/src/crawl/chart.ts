/** A line over the last minutes: one value a second, drawn by uPlot in the page's colours. */

import uPlot from "uplot";
import { make, onTheme, property } from "../page.ts";
import { clock } from "../shown.ts";

const WINDOW = 300; // seconds
const SHORTEST = 30; // seconds shown when a crawl has just begun
const BEFORE = 5; // seconds shown before anything happened
const HEIGHT = 170; // pixels

export interface Measure {
  title: string;
  say: (value: number) => string; // a value with its unit
  least: number; // what the scale reaches at least
}

export class Chart {
  private seconds: number[] = [];
  private values: number[] = [];
  private plot: uPlot | null = null;
  private readonly told = make("span", { class: "chart-value" });
  private readonly target = make("div", { class: "chart-box" });

  constructor(
    private readonly box: HTMLElement,
    private readonly measure: Measure,
  ) {
    box.setAttribute("role", "img");
    box.replaceChildren(make("p", { class: "chart-title" }, measure.title, this.told), this.target);
    this.draw();
    onTheme(() => this.draw());
    new ResizeObserver(() => this.plot?.setSize({ width: this.width, height: HEIGHT })).observe(box);
  }

  /** The seconds before now. */
  start(seconds: number[], values: number[]): void {
    this.seconds = seconds.slice(-WINDOW);
    this.values = values.slice(-WINDOW);
    this.update();
  }

  /** One more second; those in between were idle. A second that is here already is counted anew. */
  add(second: number, value: number): void {
    const last = this.seconds.at(-1);
    if (last !== undefined && second <= last) {
      const place = this.seconds.lastIndexOf(second);
      if (place >= 0) this.values[place] = Math.max(value, this.values[place] ?? 0);
    } else {
      for (let idle = Math.max((last ?? second) + 1, second - WINDOW); idle < second; idle++) this.push(idle, 0);
      this.push(second, value);
    }
    this.update();
  }

  private push(second: number, value: number): void {
    this.seconds.push(second);
    this.values.push(value);
    if (this.seconds.length > WINDOW) {
      this.seconds.shift();
      this.values.shift();
    }
  }

  private update(): void {
    this.plot?.setData([this.seconds, this.values]);
    this.box.dataset.points = String(this.seconds.length);
    this.box.dataset.most = String(Math.max(0, ...this.values));
    this.tell();
  }

  /** What the line says in words: where one points, else now. */
  private tell(pointed: number | null = null): void {
    const value = this.values[pointed ?? this.values.length - 1] ?? 0;
    const second = pointed === null ? undefined : this.seconds[pointed];
    this.told.textContent = this.measure.say(value) + (second === undefined ? "" : ` at ${clock(second)}`);
    const most = this.measure.say(Math.max(0, ...this.values));
    this.box.setAttribute("aria-label", `${this.measure.title}: ${this.measure.say(value)} now, at most ${most}`);
  }

  private get width(): number {
    return Math.max(200, Math.floor(this.target.clientWidth));
  }

  /** From when something happened, within the window. */
  private span(): [number, number] {
    const last = this.seconds.at(-1) ?? WINDOW;
    const first = this.seconds[this.values.findIndex((value) => value > 0)] ?? last;
    return [Math.max(last - WINDOW, Math.min(first - BEFORE, last - SHORTEST)), last];
  }

  private draw(): void {
    this.plot?.destroy();
    const line = property("--accent") || "#2255aa";
    const axis = {
      stroke: property("--ink-2") || "#666666",
      font: `12px ${property("--sans") || "sans-serif"}`,
      ticks: { show: false },
    };
    const grid = { stroke: property("--line") || "#dddddd", width: 1 };
    const { least, say, title } = this.measure;
    this.plot = new uPlot(
      {
        width: this.width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
        hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx ?? null)] },
        scales: {
          x: { range: () => this.span() },
          y: { range: (_, __, most) => [0, Math.max(least, most * 1.1)] },
        },
        axes: [
          { ...axis, grid: { show: false }, space: 90, size: 26, values: (_, moments) => moments.map(clock) },
          { ...axis, grid, space: 34, size: 62, values: (_, values) => values.map(say) },
        ],
        series: [
          {},
          {
            label: title,
            stroke: line,
            width: 2,
            fill: `color-mix(in srgb, ${line} 18%, transparent)`,
            points: { show: false },
          },
        ],
      },
      [this.seconds, this.values],
      this.target,
    );
  }
}
