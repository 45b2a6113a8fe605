/** Server-sent events of a running crawl: `event: live` of `/api/live`, about once per second while it changes. */

export interface Crawler {
  name: string;
  heartbeat_at: number;
  wanted: "run" | "pause" | "stop";
  state: string; // running, paused, waiting, stopped, lost
  pages: number;
  pages_per_second: number;
  bytes_per_second: number;
  limit: string;
  waiting_for: string;
  parsers: number;
  most_parsers: number; // 0: the number is fixed
  wanted_parsers: number | null;
  at_work: boolean;
}

export interface WaitingHost {
  host: string;
  queued: number;
  ready_at: number;
  holder: string | null;
  reason: string;
}

export interface Visit {
  url: string;
  visited_at: number;
  crawler: string;
  status: number;
  outcome: string;
  reason: string;
  bytes: number;
  milliseconds: number;
}

export interface LiveStatus {
  now: number;
  resources: Record<string, number>;
  hosts: number;
  summary: string; // the size of the web
  links: number;
  documents: number;
  rate: number;
  bytes_rate: number;
  limit: string;
  crawlers: Crawler[];
  waiting: WaitingHost[];
  pages: Visit[];
  errors: Visit[];
  tick: { second: number; pages: number; bytes: number };
}

/** `/api/pace?whole=true`: visits and bytes a second of the whole round, one value for each `step` seconds. */
export interface RateHistory {
  step: number;
  seconds: number[];
  pages: number[];
  bytes: number[];
}

export interface LiveHandlers {
  live: (live: LiveStatus) => void;
  open: () => void;
  disconnected: () => void;
  problem: (message: string) => void;
}

const RETRY_MS = 2000; // a browser gives up by itself after a refused request

/** Subscribes to events until the page closes; connects again after errors. */
export function subscribe(path: string, handlers: LiveHandlers): void {
  const source = new EventSource(path);
  const close = (): void => source.close();
  addEventListener("pagehide", close, { once: true });
  source.addEventListener("open", handlers.open);
  source.addEventListener("live", (event: MessageEvent<string>) => handlers.live(JSON.parse(event.data) as LiveStatus));
  source.addEventListener("problem", (event: MessageEvent<string>) => {
    const { title, detail } = JSON.parse(event.data) as { title: string; detail?: string };
    handlers.problem(detail || title);
  });
  source.addEventListener("error", () => {
    handlers.disconnected();
    source.close();
    removeEventListener("pagehide", close);
    setTimeout(() => subscribe(path, handlers), RETRY_MS);
  });
}
