/** Entry of the search box for other sites: reads the attributes of its `<script>` and adds the button and the dialog. */

import { parseOptions } from "./widget/options.ts";
import { SearchBox } from "./widget/search_box.ts";

const script = document.currentScript;

function start(element: HTMLScriptElement): void {
  const options = parseOptions(element.src, element.dataset);
  const place = options.target ? document.querySelector(options.target) : null;
  const box = new SearchBox(options);
  if (place) place.append(box.host);
  else if (document.body?.contains(element)) element.after(box.host);
  else document.body.append(box.host);
}

if (script instanceof HTMLScriptElement) {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start(script));
  else start(script);
}
