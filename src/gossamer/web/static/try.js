/**
 * Sends the forms of the API page (`form.try-call`) and shows each answer below its form. Without this script, forms of
 * GET requests open the answer as a page of its own.
 */

const MAX_SHOWN = 20_000; // characters of an answer; browsers get slow with more

for (const form of document.querySelectorAll("form.try-call")) {
  if (form instanceof HTMLFormElement) form.addEventListener("submit", (event) => void send(event, form));
}
for (const hidden of document.querySelectorAll("[data-script]")) hidden.removeAttribute("hidden");

/**
 * @param {SubmitEvent} event
 * @param {HTMLFormElement} form
 */
async function send(event, form) {
  event.preventDefault();
  const shown = form.querySelector("output");
  if (!shown) return;
  shown.textContent = "Waiting ...";
  const started = performance.now();
  try {
    const response = await fetch(target(form), request(form));
    const text = await response.text();
    const took = Math.round(performance.now() - started);
    const heading = document.createElement("p");
    heading.textContent = `${response.status} ${response.statusText}, ${took} ms`;
    const body = document.createElement("pre");
    body.tabIndex = 0;
    body.textContent = readable(text, response.headers.get("content-type") ?? "");
    shown.replaceChildren(heading, body);
  } catch (error) {
    shown.textContent = `No answer: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * Returns the URL of a call: parts of the path are filled in, and empty parameters left out.
 * @param {HTMLFormElement} form
 */
function target(form) {
  let path = form.dataset.path ?? "";
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("[data-in]")) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) continue;
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (field.value) query.set(field.name, field.value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @param {HTMLFormElement} form
 * @returns {RequestInit}
 */
function request(form) {
  const body = form.querySelector("textarea");
  if (form.dataset.verb !== "post") return { method: "GET" };
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: body?.value || "{}" };
}

/**
 * @param {string} text
 * @param {string} type
 */
function readable(text, type) {
  let shown = text;
  if (type.includes("json")) {
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      shown = text; // cut by the server, or no JSON after all
    }
  }
  return shown.length > MAX_SHOWN
    ? `${shown.slice(0, MAX_SHOWN)}\n... ${shown.length - MAX_SHOWN} more characters`
    : shown;
}
