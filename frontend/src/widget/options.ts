/** The options of the search box: the attributes of its `<script>`, such as `data-text-button="Suchen"`. */

export type Theme = "light" | "dark";

/** Texts that people see; `data-text-...` replaces each. `{query}` and `{count}` stand for values. */
export const TEXTS = {
  button: "Search",
  placeholder: "Search",
  title: "Search this site",
  results: "Results: {count}",
  none: "Nothing found for “{query}”",
  failed: "The search does not answer. Try again in a moment.",
  all: "All results",
  close: "Close",
};

export type Texts = typeof TEXTS;

export interface Options {
  base: string; // URL of the server, with its last slash
  site: string; // searches only this host, perhaps below a path: "docs.example/guide"
  target: string; // selector of the element that gets the button; "": the place of the script
  button: string; // selector of the page's own button; "": the box brings one
  key: string; // opens the dialog with Ctrl or ⌘; "": no key does
  theme: Theme | null; // null: as the page or the system
  language: string; // of the texts
  texts: Texts;
}

export function parseOptions(source: string, attributes: Record<string, string | undefined>): Options {
  const { site = "", target = "", button = "", key = "k", theme, lang = "en" } = attributes;
  return {
    base: new URL(".", source).href,
    site,
    target,
    button,
    key: key.toLowerCase(),
    theme: theme === "light" || theme === "dark" ? theme : null,
    language: lang,
    texts: parseTexts(attributes),
  };
}

function parseTexts(attributes: Record<string, string | undefined>): Texts {
  const texts = { ...TEXTS };
  for (const name of Object.keys(TEXTS) as (keyof Texts)[]) {
    texts[name] = attributes[`text${name[0]?.toUpperCase()}${name.slice(1)}`] ?? TEXTS[name];
  }
  return texts;
}

/** Puts values into a text: `{count}` becomes the count. */
export function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
}
