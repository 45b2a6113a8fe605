/** The page of the link graph: finds the parts that the server rendered and gives them to the explorer. */

import "./graph/graph.css";
import { Explorer, type Paths } from "./graph/explorer.ts";
import { button, byId, make } from "./page.ts";

const KEYS = "Arrows move, + and − zoom, F fits, N and P go through the nodes by rank, Enter expands, Escape lets go.";

function start(): void {
  const box = byId("graph", HTMLElement);
  const status = byId("graph-status", HTMLElement);
  if (!document.createElement("canvas").getContext("webgl2")) {
    status.textContent = "This browser cannot draw the graph (it has no WebGL 2). The list below holds its nodes.";
    box.dataset.state = "error";
    return;
  }
  const help = make("p", { id: "graph-keys", class: "graph-keys" }, KEYS);
  const canvas = make("div", {
    class: "graph-canvas",
    tabindex: "0",
    role: "application",
    "aria-label": "Picture of the link graph",
    "aria-describedby": "graph-keys graph-status",
  });
  const corner = make("div", { class: "graph-corner", role: "group", "aria-label": "Zoom" });
  const notice = make("p", { class: "graph-notice", hidden: true, "aria-hidden": "true" }); // the status says it as well
  box.replaceChildren(canvas, corner, notice);
  document.querySelector("main .message[role=alert]")?.remove(); // what was wrong with the first view is told anew
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
    button("+", () => explorer.zoom(1 / 1.5), { class: "plain", "aria-label": "Zoom in" }),
    button("−", () => explorer.zoom(1.5), { class: "plain", "aria-label": "Zoom out" }),
    button("⤢", () => explorer.fit(), { class: "plain", "aria-label": "Show everything", id: "fit" }),
  );
  addTools(explorer, status);
}

function pathsOf(box: HTMLElement): Paths {
  const { api = "/api/graph", find = "/api/graph/find", neighbours = "/api/graph/neighbours" } = box.dataset;
  return { graph: api, find, neighbours };
}

/** The server's links give the view without what was expanded and hidden; here the files are what is seen. */
function addTools(explorer: Explorer, status: HTMLElement): void {
  const made = (["png", "svg", "gexf"] as const).map((form) => {
    const save = (): void => {
      explorer.save(form).catch((error: Error) => {
        status.textContent = error.message;
      });
    };
    document.getElementById(form)?.remove();
    return button(`Save ${form.toUpperCase()}`, save, { id: `save-${form}`, class: "plain" });
  });
  byId("graph-tools", HTMLElement).prepend(...made);
}

start();
