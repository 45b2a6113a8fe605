/** What the server tells about once a second, when something changed: `event: live` of `/api/live`. */

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
  most_parsers: number; // 0: they cannot be changed
  wanted_parsers: number | null;
  at_work: boolean;
}

export interface Waiting {
  host: string;
  queued: number;
  ready_at: number;
  holder: string | null;
  reason: string;
}

export interface Visited {
  url: string;
  visited_at: number;
  crawler: string;
  status: number;
  outcome: string;
  reason: string;
  bytes: number;
  milliseconds: number;
}

export interface Live {
  now: number;
  resources: Record<string, number>;
  hosts: number;
  links: number;
  documents: number;
  rate: number;
  bytes_rate: number;
  limit: string;
  crawlers: Crawler[];
  waiting: Waiting[];
  pages: Visited[];
  errors: Visited[];
  tick: { second: number; pages: number; bytes: number };
}

/** `/api/pace`: the minutes before. */
export interface Pace {
  seconds: number[];
  pages: number[];
  bytes: number[];
}

export interface Ears {
  live: (live: Live) => void;
  open: () => void;
  lost: () => void;
  problem: (sentence: string) => void;
}

const AGAIN = 2000; // ms until we ask again: a browser by itself gives up when it was refused

/** Listens for as long as the page is there. */
export function listen(path: string, ears: Ears): void {
  const source = new EventSource(path);
  const leave = (): void => source.close();
  addEventListener("pagehide", leave, { once: true });
  source.addEventListener("open", ears.open);
  source.addEventListener("live", (event: MessageEvent<string>) => ears.live(JSON.parse(event.data) as Live));
  source.addEventListener("problem", (event: MessageEvent<string>) => {
    const { title, detail } = JSON.parse(event.data) as { title: string; detail?: string };
    ears.problem(detail || title);
  });
  source.addEventListener("error", () => {
    ears.lost();
    source.close();
    removeEventListener("pagehide", leave);
    setTimeout(() => listen(path, ears), AGAIN);
  });
}
