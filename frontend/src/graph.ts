/** Entry of the graph page: gives the elements that the server rendered to the explorer. */

import "./graph/graph.css";
import { byId, createButton, createElement } from "./dom.ts";
import { Explorer, type Paths } from "./graph/explorer.ts";

const KEYS =
  "Arrows move, + and − zoom, F fits, N and P go through the nodes by rank, Enter expands, Escape clears the selection.";

function start(): void {
  const box = byId("graph", HTMLElement);
  const status = byId("graph-status", HTMLElement);
  if (!document.createElement("canvas").getContext("webgl2")) {
    status.textContent = "This browser cannot draw the graph (it has no WebGL 2). The list below holds its nodes.";
    box.dataset.state = "error";
    return;
  }
  const help = createElement("p", { id: "graph-keys", class: "graph-keys" }, KEYS);
  const canvas = createElement("div", {
    class: "graph-canvas",
    tabindex: "0",
    role: "application",
    "aria-label": "Picture of the link graph",
    "aria-describedby": "graph-keys graph-status",
  });
  const corner = createElement("div", { class: "graph-corner", role: "group", "aria-label": "Zoom" });
  const notice = createElement("p", { class: "graph-notice", hidden: true, "aria-hidden": "true" }); // screen readers get the same text from the status
  box.replaceChildren(canvas, corner, notice);
  document.querySelector("main .message[role=alert]")?.remove(); // the explorer shows the error itself
  status.after(help);
  const table = byId("graph-table", HTMLTableElement);
  const parts = {
    box,
    canvas,
    status,
    notice,
    legend: byId("legend", HTMLElement),
    panel: byId("node-panel", HTMLElement),
    rows: table.tBodies[0] ?? table.createTBody(),
  };
  const explorer = new Explorer(parts, pathsOf(box));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (explorer.press(event.key)) event.preventDefault();
  });
  corner.append(
    createButton("+", () => explorer.zoom(1 / 1.5), { class: "plain", "aria-label": "Zoom in" }),
    createButton("−", () => explorer.zoom(1.5), { class: "plain", "aria-label": "Zoom out" }),
    createButton("⤢", () => explorer.fit(), { class: "plain", "aria-label": "Show everything", id: "fit" }),
  );
  addTools(explorer, status);
}

function pathsOf(box: HTMLElement): Paths {
  const { api = "/api/graph", find = "/api/graph/find", neighbours = "/api/graph/neighbours" } = box.dataset;
  return { graph: api, find, neighbours };
}

/** Replaces the server's download links: these save the view with its expanded and hidden nodes. */
function addTools(explorer: Explorer, status: HTMLElement): void {
  const buttons = (["png", "svg", "gexf"] as const).map((form) => {
    const save = (): void => {
      explorer.save(form).catch((error: Error) => {
        status.textContent = error.message;
      });
    };
    document.getElementById(form)?.remove();
    return createButton(`Save ${form.toUpperCase()}`, save, { id: `save-${form}`, class: "plain" });
  });
  byId("graph-tools", HTMLElement).prepend(...buttons);
}

start();
