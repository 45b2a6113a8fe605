/** Entry of the crawl page: starts the live dashboard and sends control forms without leaving the page. */

import "uplot/dist/uPlot.min.css";
import "./crawl/crawl.css";
import { interceptForms } from "./crawl/control.ts";
import { Dashboard } from "./crawl/dashboard.ts";
import { byId } from "./dom.ts";

function showMessage(text: string, bad: boolean): void {
  const message = byId("control-message", HTMLElement);
  message.textContent = text;
  message.className = bad ? "message bad" : "message";
}

interceptForms(showMessage);
new Dashboard().start().catch((error: Error) => showMessage(error.message, true));
