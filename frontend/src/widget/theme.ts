/** The theme of the search box: that of its option, else of the page (`<html data-theme>`), else of the system. */

import { onThemeChange } from "../dom.ts";
import type { Theme } from "./options.ts";

export function followTheme(host: HTMLElement, chosen: Theme | null): void {
  const update = (): void => {
    const page = document.documentElement.dataset.theme;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    host.dataset.theme = chosen ?? (page === "dark" || page === "light" ? page : system);
  };
  update();
  if (!chosen) onThemeChange(update);
}
