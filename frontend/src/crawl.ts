/** The page of the crawl: what moves, and forms that are sent without leaving it. */

import "uplot/dist/uPlot.min.css";
import "./crawl/crawl.css";
import { intercept } from "./crawl/control.ts";
import { Dashboard } from "./crawl/dashboard.ts";
import { byId } from "./page.ts";

function say(text: string, bad: boolean): void {
  const message = byId("control-message", HTMLElement);
  message.textContent = text;
  message.className = bad ? "message bad" : "message";
}

intercept(say);
new Dashboard().start().catch((error: Error) => say(error.message, true));
