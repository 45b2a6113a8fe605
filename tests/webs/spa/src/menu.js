// The menu of every page, in a shadow root.
import { fetchData } from "./data.js";

class MuseumMenu extends HTMLElement {
  async connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    const { links } = await fetchData("/menu");
    const menu = document.createElement("nav");
    for (const { to, text } of links) {
      const anchor = document.createElement("a");
      anchor.href = to;
      anchor.textContent = text;
      menu.append(anchor, " ");
    }
    root.append(menu);
  }
}

customElements.define("museum-menu", MuseumMenu);
