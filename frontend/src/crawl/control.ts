/** Sends the page's control forms without leaving it, and says how it went. They work without this, too. */

import { tell } from "../api.ts";

export function intercept(say: (text: string, bad: boolean) => void): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.api) return;
    event.preventDefault();
    send(form, event.submitter).then(
      (text) => say(text, false),
      (error: Error) => say(error.message, true),
    );
  });
}

async function send(form: HTMLFormElement, submitter: HTMLElement | null): Promise<string> {
  const fields = [...new FormData(form, submitter)].filter(([, value]) => value !== "");
  const body = Object.fromEntries(fields.map(([name, value]) => [name, fieldValue(form, name, String(value))]));
  if (submitter instanceof HTMLButtonElement) submitter.disabled = true;
  try {
    const answer = await tell<{ done: string }>(form.dataset.api ?? "", body);
    form.reset();
    return answer.done;
  } finally {
    if (submitter instanceof HTMLButtonElement) submitter.disabled = false;
  }
}

/** Numbers are sent as numbers: those typed, and those of buttons. */
function fieldValue(form: HTMLFormElement, name: string, value: string): string | number {
  const field = form.elements.namedItem(name);
  const numeric = field instanceof HTMLInputElement ? field.type === "number" : field instanceof RadioNodeList;
  return numeric ? Number(value) : value;
}
