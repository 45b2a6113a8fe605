/** The live dashboard: counts, charts and tables that follow the events of the server. */

import { getJson } from "../api.ts";
import { formatAge, formatBytes, formatClock, formatCount, formatDecimal, formatDuration } from "../display.ts";
import { byId } from "../dom.ts";
import { Chart, type Measure } from "./chart.ts";
import { type Crawler, type LiveStatus, type RateHistory, subscribe, type Visit, type WaitingHost } from "./live.ts";
import { type Row, Rows } from "./rows.ts";

const SECOND = 1000; // ms
const PAGES: Measure = { title: "Pages a second", format: formatCount, minTop: 4 };
const BYTES: Measure = { title: "Bytes a second", format: formatBytes, minTop: 1000 };

export class Dashboard {
  private readonly charts = byId("charts", HTMLElement);
  private readonly pages = new Chart(byId("chart-pages", HTMLElement), PAGES);
  private readonly bytes = new Chart(byId("chart-bytes", HTMLElement), BYTES);
  private readonly crawlers = new Rows(byId("crawlers", HTMLElement), "crawler-row", crawlerRow, setForms);
  private readonly waiting = new Rows(byId("waiting", HTMLElement), "waiting-row", waitingRow);
  private readonly latest = new Rows(byId("latest", HTMLElement), "latest-row", visitRow);
  private readonly errors = new Rows(byId("latest-errors", HTMLElement), "error-row", visitRow);
  private readonly status = byId("live-status", HTMLElement);
  private lastEvent: { live: LiveStatus; at: number } | null = null; // `at`: when it came

  async start(): Promise<void> {
    const { live = "/api/live", pace = "/api/pace" } = this.charts.dataset;
    const history = await getJson<RateHistory>(pace, { whole: "true" });
    this.pages.start(history.seconds, history.pages, history.step);
    this.bytes.start(history.seconds, history.bytes, history.step);
    subscribe(live, {
      live: (now) => this.show(now),
      open: () => this.markState("live"),
      disconnected: () => this.setStatus("No connection to the server; trying again …", "lost"),
      problem: (message) => this.setStatus(message, "lost"),
    });
    setInterval(() => this.idle(), SECOND);
  }

  private show(live: LiveStatus): void {
    this.lastEvent = { live, at: performance.now() };
    if (live.tick.pages > 0 || live.crawlers.some((crawler) => crawler.at_work)) {
      this.tick(live.tick.second, live.tick.pages, live.tick.bytes);
    }
    this.showCounts(live);
    this.crawlers.show(live.crawlers, live.now);
    this.waiting.show(live.waiting, live.now);
    this.latest.show(live.pages, live.now);
    this.errors.show(live.errors, live.now);
    document.getElementById("no-errors")?.toggleAttribute("hidden", live.errors.length > 0);
    this.setStatus(summary(live), "live");
  }

  /** Advances charts and times while no events come, because the server sends none without changes. */
  private idle(): void {
    if (!this.lastEvent || this.charts.dataset.state !== "live") return;
    const silence = (performance.now() - this.lastEvent.at) / SECOND;
    if (silence < 2) return;
    const { live } = this.lastEvent;
    const now = live.now + silence;
    if (live.crawlers.some((crawler) => crawler.at_work)) this.tick(Math.floor(now) - 1, 0, 0);
    this.crawlers.show(live.crawlers, now);
    this.waiting.show(live.waiting, now);
  }

  private tick(second: number, visits: number, amount: number): void {
    this.pages.add(second, visits);
    this.bytes.add(second, amount);
    this.charts.dataset.second = String(second);
  }

  private showCounts(live: LiveStatus): void {
    const texts: Record<string, string> = {
      ...Object.fromEntries(Object.entries(live.resources).map(([state, count]) => [state, formatCount(count)])),
      hosts: formatCount(live.hosts),
      links: formatCount(live.links),
      summary: live.summary,
      documents: formatCount(live.documents),
      rate: formatDecimal(live.rate),
      bytes_rate: formatBytes(live.bytes_rate),
    };
    for (const element of document.querySelectorAll<HTMLElement>("[data-count]")) {
      const text = texts[element.dataset.count ?? ""] ?? "0";
      if (element.textContent !== text) element.textContent = text;
    }
  }

  /** Writes the status only when it changes, because screen readers read it out. */
  private setStatus(text: string, condition: "live" | "lost"): void {
    if (this.status.textContent !== text) this.status.textContent = text;
    this.markState(condition);
  }

  private markState(condition: "live" | "lost"): void {
    this.charts.dataset.state = condition;
  }
}

/** Summarises the crawl without numbers that change every second. */
function summary({ crawlers, limit }: LiveStatus): string {
  const names = crawlers.filter((crawler) => crawler.at_work).map(({ name }) => name);
  if (names.length === 0) return "No crawler is at work.";
  const who = names.length > 5 ? `${formatCount(names.length)} crawlers are at work` : `${names.join(", ")} at work`;
  return `${who}${limit ? `, limited by ${limit}` : ""}.`;
}

function crawlerRow(crawler: Crawler, now: number): Row {
  return {
    key: crawler.name,
    texts: {
      name: crawler.name,
      state: stateOf(crawler),
      pages: formatCount(crawler.pages),
      rate: formatDecimal(crawler.pages_per_second),
      bytes: formatBytes(crawler.bytes_per_second),
      parsers: parsersOf(crawler),
      limit: crawler.limit,
      waiting: crawler.waiting_for,
      seen: formatAge(now - crawler.heartbeat_at),
    },
  };
}

function stateOf({ state, wanted, at_work }: Crawler): string {
  const pending = at_work && wanted !== "run" && state !== "paused" && state !== "stopped";
  return pending ? `${state}, shall ${wanted}` : state;
}

function parsersOf({ parsers, wanted_parsers, at_work }: Crawler): string {
  if (!at_work || !parsers) return "";
  return wanted_parsers && wanted_parsers !== parsers ? `${parsers}, shall be ${wanted_parsers}` : String(parsers);
}

/** Points the control forms of a row at its crawler and hides those that do not apply. */
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

/** Sets the buttons to one parser fewer and one more, within the limit of the crawler. */
function setSteps(row: HTMLElement, { parsers, wanted_parsers, most_parsers }: Crawler): void {
  for (const button of row.querySelectorAll<HTMLButtonElement>("button[data-step]")) {
    const number = (wanted_parsers ?? parsers) + Number(button.dataset.step);
    button.value = String(number);
    button.disabled = number < 1 || number > most_parsers;
  }
}

function waitingRow({ host, queued, ready_at, holder, reason }: WaitingHost, now: number): Row {
  const ready = ready_at > now ? formatDuration(ready_at - now) : "now";
  return { key: host, texts: { host, queued: formatCount(queued), ready, holder: holder ?? "", reason } };
}

function visitRow(visit: Visit): Row {
  return {
    key: visit.url,
    texts: {
      url: visit.url,
      time: formatClock(visit.visited_at),
      status: visit.status ? String(visit.status) : "no answer",
      bytes: formatBytes(visit.bytes),
      ms: `${formatCount(visit.milliseconds)} ms`,
      crawler: visit.crawler,
      outcome: visit.outcome,
      reason: visit.reason,
    },
    link: `/page?${new URLSearchParams({ url: visit.url })}`,
  };
}
