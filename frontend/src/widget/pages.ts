/** Pages that the server finds for an unfinished query, and their snippets. */

import type { Options } from "./options.ts";

export const MOST_PAGES = 8; // as many as a laptop shows without scrolling far

export interface FoundPage {
  url: string;
  title: string;
  snippet: string; // HTML with the query's words in <mark>, and nothing else
}

/** Returns the query with the site to search as a filter. */
export function queryFor(text: string, { site }: Pick<Options, "site">): string {
  return site ? `site:${site} ${text}` : text;
}

export async function findPages(text: string, options: Options, signal: AbortSignal): Promise<FoundPage[]> {
  const parameters = { q: queryFor(text, options), limit: String(MOST_PAGES), snippets: "true" };
  const response = await fetch(`${options.base}api/complete?${new URLSearchParams(parameters)}`, {
    credentials: "omit",
    signal,
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const { pages } = (await response.json()) as { pages: FoundPage[] };
  return pages.filter(({ url }) => /^https?:/.test(url));
}

export interface Piece {
  text: string;
  marked: boolean;
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'", "#39": "'" };

/** Splits a snippet into texts, so that the page needs no HTML of the server. */
export function snippetPieces(snippet: string): Piece[] {
  let marked = false;
  const pieces: Piece[] = [];
  for (const part of snippet.split(/(<\/?mark>)/)) {
    if (part === "<mark>" || part === "</mark>") marked = part === "<mark>";
    else if (part) pieces.push({ text: unescapeHtml(part), marked });
  }
  return pieces;
}

function unescapeHtml(text: string): string {
  return text.replace(/&(#?\w+);/g, (all, name: string) => ENTITIES[name] ?? all);
}
