/** Colours as `#rrggbb`: their components and mixtures. */

/** Returns red, green and blue, 0 to 255. */
export function rgb(colour: string): [number, number, number] {
  const code = /^#[0-9a-f]{3}$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
  const number = Number.parseInt(code.slice(1, 7), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/** Mixes two colours: share 0 is the first, 1 the second. */
export function mixColours(from: string, to: string, share: number): string {
  const end = rgb(to);
  const code = rgb(from).map((part, index) => Math.round(part + ((end[index] ?? 0) - part) * share));
  return `#${code.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Whether white text is easier to read on a colour than black. */
export function isDark(colour: string): boolean {
  const [red, green, blue] = rgb(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
