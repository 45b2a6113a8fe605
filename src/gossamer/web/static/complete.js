/** The search box of every page: the key `/` focuses it, it completes the query and shows pages while one types. */

import { combobox } from "./combobox.js";

const input = document.getElementById("q");
const list = document.getElementById("completions");

if (input instanceof HTMLInputElement) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  const path = input.dataset.complete;
  if (list && path) attachCompletions(input, list, path);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** @typedef {{completion: string}} Completion */
/** @typedef {{url: string, title: string}} PageMatch */

const COMPLETIONS = 4; // words first, then pages; more would not fit below the box of a laptop
const PAGES = 5;

/**
 * @param {HTMLInputElement} box
 * @param {HTMLElement} options
 * @param {string} path
 */
function attachCompletions(box, options, path) {
  combobox({
    input: box,
    list: options,
    find: async (text, signal) => {
      const response = await fetch(`${path}?${new URLSearchParams({ q: text, limit: String(PAGES) })}`, { signal });
      if (!response.ok) return [];
      /** @type {{completions: string[], pages: PageMatch[]}} */
      const answer = await response.json();
      const completions = answer.completions.slice(0, COMPLETIONS).map((completion) => ({ completion }));
      return [...completions, ...answer.pages.filter(({ url }) => /^https?:/.test(url))];
    },
    show: (option) => ("completion" in option ? boldRest(box.value, option.completion) : titleAndAddress(option)),
    choose: (option) => {
      if ("completion" in option) {
        box.value = option.completion;
        box.form?.requestSubmit();
      } else location.assign(option.url);
    },
  });
}

/**
 * Returns the title of a page, and its address below.
 * @param {PageMatch} page
 */
function titleAndAddress({ url, title }) {
  const name = document.createElement("span");
  name.className = "page-title";
  name.dir = "auto";
  name.textContent = title || "(no title)";
  const address = document.createElement("small");
  address.textContent = url.replace(/^https?:\/\//, "");
  return [name, address];
}

/**
 * Returns a completion with the part beyond the typed text in bold.
 * @param {string} text
 * @param {string} completion
 */
function boldRest(text, completion) {
  if (!completion.toLowerCase().startsWith(text.toLowerCase())) return [completion];
  const rest = document.createElement("b");
  rest.textContent = completion.slice(text.length);
  return [completion.slice(0, text.length), rest];
}
