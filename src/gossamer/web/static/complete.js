/** The search box of every page: the key `/` focuses it, and it completes the query. */

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
      const response = await fetch(`${path}?${new URLSearchParams({ q: text, limit: "8" })}`, { signal });
      if (!response.ok) return [];
      /** @type {{completions: string[]}} */
      const answer = await response.json();
      return answer.completions;
    },
    show: (completion) => boldRest(box.value, completion),
    choose: (completion) => {
      box.value = completion;
      box.form?.requestSubmit();
    },
  });
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
