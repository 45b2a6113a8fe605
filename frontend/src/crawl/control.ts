/** Sends the control forms of the page by script and reports the result. The forms also work without scripts. */

import { postJson } from "../api.ts";

export function interceptForms(report: (text: string, bad: boolean) => void): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.api) return;
    event.preventDefault();
    sendForm(form, event.submitter).then(
      (text) => report(text, false),
      (error: Error) => report(error.message, true),
    );
  });
}

async function sendForm(form: HTMLFormElement, submitter: HTMLElement | null): Promise<string> {
  const fields = [...new FormData(form, submitter)].filter(([, value]) => value !== "");
  const body = Object.fromEntries(fields.map(([name, value]) => [name, fieldValue(form, name, String(value))]));
  if (submitter instanceof HTMLButtonElement) submitter.disabled = true;
  try {
    const answer = await postJson<{ done: string }>(form.dataset.api ?? "", body);
    form.reset();
    return answer.done;
  } finally {
    if (submitter instanceof HTMLButtonElement) submitter.disabled = false;
  }
}

/** Sends typed numbers and the numbers of buttons as JSON numbers. */
function fieldValue(form: HTMLFormElement, name: string, value: string): string | number {
  const field = form.elements.namedItem(name);
  const numeric = field instanceof HTMLInputElement ? field.type === "number" : field instanceof RadioNodeList;
  return numeric ? Number(value) : value;
}
