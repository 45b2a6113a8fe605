/** The magnifying glass of the search box. */

const SVG = "http://www.w3.org/2000/svg";

export function magnifier(): SVGElement {
  const icon = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  for (const [name, value] of Object.entries({
    viewBox: "0 0 20 20",
    width: "18",
    height: "18",
    "aria-hidden": "true",
  })) {
    icon.setAttribute(name, value);
  }
  path.setAttribute("d", "M8.5 3a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11M12.7 12.7L17 17");
  icon.append(path);
  return icon;
}
