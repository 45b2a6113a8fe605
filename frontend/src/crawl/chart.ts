/** A chart of a whole crawl, one value for each step of seconds, drawn by uPlot in the colours of the page. */

import uPlot from "uplot";
import { formatClock } from "../display.ts";
import { createElement, cssVariable, onThemeChange } from "../dom.ts";

const MAX_POINTS = 1200; // values kept; beyond, two steps become one of twice the length
const MIN_SPAN = 30; // seconds shown when a crawl has just started
const LEAD = 5; // seconds shown before the first visit
const HEIGHT = 170; // pixels
const HALF_CLOCK = 28; // pixels right of the last time, whose text is centred below its point

export interface Measure {
  title: string;
  format: (value: number) => string; // a value with its unit
  minTop: number; // the smallest upper end of the scale
}

export class Chart {
  private seconds: number[] = [];
  private values: number[] = [];
  private step = 1; // seconds that a value covers
  private latest = 0; // the last second counted
  private plot: uPlot | null = null;
  private readonly valueText = createElement("span", { class: "chart-value" });
  private readonly target = createElement("div", { class: "chart-box" });

  constructor(
    private readonly box: HTMLElement,
    private readonly measure: Measure,
  ) {
    box.setAttribute("role", "img");
    box.replaceChildren(createElement("p", { class: "chart-title" }, measure.title, this.valueText), this.target);
    this.draw();
    onThemeChange(() => this.draw());
    new ResizeObserver(() => this.plot?.setSize({ width: this.width, height: HEIGHT })).observe(box);
  }

  /** Sets the history: the start of each step, its mean value a second, and the seconds of a step. */
  start(seconds: number[], values: number[], step: number): void {
    this.seconds = [...seconds];
    this.values = [...values];
    this.step = step;
    this.latest = (seconds.at(-1) ?? 0) + step - 1;
    this.halve();
    this.update();
  }

  /** Adds a second; skipped seconds get 0. A second that exists keeps the larger value. */
  add(second: number, value: number): void {
    const last = this.seconds.at(-1);
    const index = this.values.length - 1;
    if (last === undefined || second >= last + this.step) this.append(second, value);
    else if (second > this.latest) this.values[index] = (this.values[index] ?? 0) + value / this.step;
    else if (this.step === 1 && second === last) this.values[index] = Math.max(value, this.values[index] ?? 0);
    this.latest = Math.max(this.latest, second);
    this.halve();
    this.update();
  }

  private append(second: number, value: number): void {
    let start = (this.seconds.at(-1) ?? second - this.step) + this.step;
    start = Math.max(start, second - (second % this.step) - MAX_POINTS * this.step);
    for (; start + this.step <= second; start += this.step) {
      this.seconds.push(start);
      this.values.push(0);
    }
    this.seconds.push(start);
    this.values.push(value / this.step);
  }

  /** Joins pairs of steps while there are too many. */
  private halve(): void {
    while (this.seconds.length > MAX_POINTS) {
      const values = this.values;
      this.values = values.filter((_, i) => i % 2 === 0).map((value, i) => (value + (values[2 * i + 1] ?? 0)) / 2);
      this.seconds = this.seconds.filter((_, i) => i % 2 === 0);
      this.step *= 2;
    }
  }

  private update(): void {
    this.plot?.setData([this.seconds, this.values]);
    this.box.dataset.points = String(this.seconds.length);
    this.box.dataset.most = String(Math.max(0, ...this.values));
    this.describe();
  }

  /** Writes the value at the cursor, or the latest one, and describes the chart for screen readers. */
  private describe(cursor: number | null = null): void {
    const value = this.values[cursor ?? this.values.length - 1] ?? 0;
    const second = cursor === null ? undefined : this.seconds[cursor];
    this.valueText.textContent =
      this.measure.format(value) + (second === undefined ? "" : ` at ${formatClock(second)}`);
    const most = this.measure.format(Math.max(0, ...this.values));
    this.box.setAttribute("aria-label", `${this.measure.title}: ${this.measure.format(value)} now, at most ${most}`);
  }

  private get width(): number {
    return Math.max(200, Math.floor(this.target.clientWidth));
  }

  /** Returns the time range: from shortly before the first value above 0. */
  private span(): [number, number] {
    const last = this.seconds.at(-1) ?? MIN_SPAN;
    const first = this.seconds[this.values.findIndex((value) => value > 0)] ?? last;
    return [Math.min(first - LEAD, last - MIN_SPAN), last];
  }

  private draw(): void {
    this.plot?.destroy();
    const line = cssVariable("--accent") || "#2255aa";
    const axis = {
      stroke: cssVariable("--ink-2") || "#666666",
      font: `12px ${cssVariable("--sans") || "sans-serif"}`,
      ticks: { show: false },
    };
    const grid = { stroke: cssVariable("--line") || "#dddddd", width: 1 };
    const { minTop, format, title } = this.measure;
    this.plot = new uPlot(
      {
        width: this.width,
        height: HEIGHT,
        padding: [null, HALF_CLOCK, null, null],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
        hooks: { setCursor: [(plot) => this.describe(plot.cursor.idx ?? null)] },
        scales: {
          x: { range: () => this.span() },
          y: { range: (_, __, most) => [0, Math.max(minTop, most * 1.1)] },
        },
        axes: [
          { ...axis, grid: { show: false }, space: 90, size: 26, values: (_, seconds) => seconds.map(formatClock) },
          { ...axis, grid, space: 34, size: 62, values: (_, values) => values.map(format) },
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
