/** Colours as `#rrggbb`, and mixtures of them. */

/** Red, green and blue, 0 to 255. */
export function parts(colour: string): [number, number, number] {
  const code = /^#[0-9a-f]{3}$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
  const number = Number.parseInt(code.slice(1, 7), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/** A colour so far on the way to another: 0 is the first, 1 the second. */
export function mixed(from: string, to: string, share: number): string {
  const end = parts(to);
  const code = parts(from).map((part, place) => Math.round(part + ((end[place] ?? 0) - part) * share));
  return `#${code.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Whether white text is easier to read on it than black. */
export function isDark(colour: string): boolean {
  const [red, green, blue] = parts(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
