/** Numbers, charts and tables that move as the store does. */

import { ask } from "../api.ts";
import { byId } from "../page.ts";
import { ago, bytes, clock, counted, duration, tenth } from "../shown.ts";
import { Chart, type Measure } from "./chart.ts";
import { type Crawler, type Live, listen, type Pace, type Visited, type Waiting } from "./live.ts";
import { type Row, Rows } from "./rows.ts";

const SECOND = 1000; // ms
const PAGES: Measure = { title: "Pages a second", say: counted, least: 4 };
const BYTES: Measure = { title: "Bytes a second", say: bytes, least: 1000 };

export class Dashboard {
  private readonly charts = byId("charts", HTMLElement);
  private readonly pages = new Chart(byId("chart-pages", HTMLElement), PAGES);
  private readonly bytes = new Chart(byId("chart-bytes", HTMLElement), BYTES);
  private readonly crawlers = new Rows(byId("crawlers", HTMLElement), "crawler-row", crawlerRow, setForms);
  private readonly waiting = new Rows(byId("waiting", HTMLElement), "waiting-row", waitingRow);
  private readonly latest = new Rows(byId("latest", HTMLElement), "latest-row", visitRow);
  private readonly errors = new Rows(byId("latest-errors", HTMLElement), "error-row", visitRow);
  private readonly status = byId("live-status", HTMLElement);
  private told: { live: Live; at: number } | null = null; // the last event, and when it came

  async start(): Promise<void> {
    const { live = "/api/live", pace = "/api/pace" } = this.charts.dataset;
    const before = await ask<Pace>(pace, { seconds: 300 });
    this.pages.start(before.seconds, before.pages);
    this.bytes.start(before.seconds, before.bytes);
    listen(live, {
      live: (now) => this.show(now),
      open: () => this.mark("live"),
      lost: () => this.say("The server is away; trying again …", "lost"),
      problem: (sentence) => this.say(sentence, "lost"),
    });
    setInterval(() => this.idle(), SECOND);
  }

  private show(live: Live): void {
    this.told = { live, at: performance.now() };
    this.tick(live.tick.second, live.tick.pages, live.tick.bytes);
    this.count(live);
    this.crawlers.show(live.crawlers, live.now);
    this.waiting.show(live.waiting, live.now);
    this.latest.show(live.pages, live.now);
    this.errors.show(live.errors, live.now);
    document.getElementById("no-errors")?.toggleAttribute("hidden", live.errors.length > 0);
    this.say(summary(live), "live");
  }

  /** Nothing was told for a while, so nothing happened: the charts move on, and times run. */
  private idle(): void {
    if (!this.told || this.charts.dataset.state !== "live") return;
    const silent = (performance.now() - this.told.at) / SECOND;
    if (silent < 2) return;
    const { live } = this.told;
    const now = live.now + silent;
    this.tick(Math.floor(now) - 1, 0, 0);
    this.crawlers.show(live.crawlers, now);
    this.waiting.show(live.waiting, now);
  }

  private tick(second: number, visits: number, amount: number): void {
    this.pages.add(second, visits);
    this.bytes.add(second, amount);
    this.charts.dataset.second = String(second);
  }

  private count(live: Live): void {
    const texts: Record<string, string> = {
      ...Object.fromEntries(Object.entries(live.resources).map(([state, count]) => [state, counted(count)])),
      hosts: counted(live.hosts),
      links: counted(live.links),
      documents: counted(live.documents),
      rate: tenth(live.rate),
      bytes_rate: bytes(live.bytes_rate),
    };
    for (const place of document.querySelectorAll<HTMLElement>("[data-count]")) {
      const text = texts[place.dataset.count ?? ""] ?? "0";
      if (place.textContent !== text) place.textContent = text;
    }
  }

  /** Written only when it changes: a screen reader reads it out. */
  private say(text: string, condition: "live" | "lost"): void {
    if (this.status.textContent !== text) this.status.textContent = text;
    this.mark(condition);
  }

  private mark(condition: "live" | "lost"): void {
    this.charts.dataset.state = condition;
  }
}

/** Without numbers that change each second: they stand beside it. */
function summary({ crawlers, limit }: Live): string {
  const names = crawlers.filter((crawler) => crawler.at_work).map(({ name }) => name);
  if (names.length === 0) return "No crawler is at work.";
  const who = names.length > 5 ? `${counted(names.length)} crawlers are at work` : `${names.join(", ")} at work`;
  return `${who}${limit ? `, limited by ${limit}` : ""}.`;
}

function crawlerRow(crawler: Crawler, now: number): Row {
  return {
    key: crawler.name,
    texts: {
      name: crawler.name,
      state: stateOf(crawler),
      pages: counted(crawler.pages),
      rate: tenth(crawler.pages_per_second),
      bytes: bytes(crawler.bytes_per_second),
      parsers: parsersOf(crawler),
      limit: crawler.limit,
      waiting: crawler.waiting_for,
      seen: ago(now - crawler.heartbeat_at),
    },
  };
}

function stateOf({ state, wanted, at_work }: Crawler): string {
  const asked = at_work && wanted !== "run" && state !== "paused" && state !== "stopped";
  return asked ? `${state}, shall ${wanted}` : state;
}

function parsersOf({ parsers, wanted_parsers, at_work }: Crawler): string {
  if (!at_work || !parsers) return "";
  return wanted_parsers && wanted_parsers !== parsers ? `${parsers}, shall be ${wanted_parsers}` : String(parsers);
}

/** What can be done with a crawler; the forms of a new row are made to be about it. */
function setForms(row: HTMLElement, crawler: Crawler): void {
  const { name, wanted, at_work, most_parsers } = crawler;
  const shown: Record<string, boolean> = {
    pause: wanted !== "pause",
    resume: wanted === "pause",
    stop: true,
    parsers: most_parsers > 0,
  };
  row.dataset.name = name;
  for (const form of row.querySelectorAll<HTMLFormElement>("form[data-verb]")) {
    const verb = form.dataset.verb ?? "";
    const path = `crawlers/${encodeURIComponent(name)}/${verb}`;
    form.dataset.api = `/api/${path}`;
    form.action = `/control/${path}`;
    form.hidden = !at_work || !shown[verb];
  }
  setSteps(row, crawler);
}

/** One parser fewer or more than is wanted now, within the crawler's limit. */
function setSteps(row: HTMLElement, { parsers, wanted_parsers, most_parsers }: Crawler): void {
  for (const button of row.querySelectorAll<HTMLButtonElement>("button[data-step]")) {
    const number = (wanted_parsers ?? parsers) + Number(button.dataset.step);
    button.value = String(number);
    button.disabled = number < 1 || number > most_parsers;
  }
}

function waitingRow({ host, queued, ready_at, holder, reason }: Waiting, now: number): Row {
  const ready = ready_at > now ? duration(ready_at - now) : "now";
  return { key: host, texts: { host, queued: counted(queued), ready, holder: holder ?? "", reason } };
}

function visitRow(visit: Visited): Row {
  return {
    key: visit.url,
    texts: {
      url: visit.url,
      time: clock(visit.visited_at),
      status: visit.status ? String(visit.status) : "no answer",
      bytes: bytes(visit.bytes),
      ms: `${counted(visit.milliseconds)} ms`,
      crawler: visit.crawler,
      outcome: visit.outcome,
      reason: visit.reason,
    },
    link: `/page?${new URLSearchParams({ url: visit.url })}`,
  };
}
