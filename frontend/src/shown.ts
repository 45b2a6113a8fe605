/** Texts from the web made harmless, amounts and times: as `gossamer/basics/display.py` does for pages made on the server. */

// What is not seen and acts on what is seen: controls, format characters such as direction marks, blank letters. Joiners
// between two letters beyond ASCII are part of how Persian, Indic scripts and emoji are written; they stay.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: and each by itself
  /(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])|([\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}])/gu;

/** A text in which everything is seen and nothing acts. */
export function seen(text: string): string {
  return text.replace(HIDDEN, (all, hidden: string | undefined) => (hidden === undefined ? all : byNumber(hidden)));
}

function byNumber(character: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return short ?? (code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `«U+${hex.toUpperCase().padStart(4, "0")}»`);
}

const whole = new Intl.NumberFormat("en");
const decimals = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });

/** 12,345 */
export function counted(number: number): string {
  return whole.format(number);
}

/** 12.3 */
export function tenth(number: number): string {
  return decimals.format(number);
}

/** 12.3 MB */
export function bytes(amount: number): string {
  let rest = amount;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (rest < 999.5) return unit === "B" || rest >= 99.95 ? `${Math.round(rest)} ${unit}` : `${tenth(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${tenth(rest)} TB`;
}

/** 12 s; 3 min 20 s; 2 h 05 min */
export function duration(seconds: number): string {
  const all = Math.round(seconds);
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(all / unit)) as [number, number, number];
  if (minutes < 1) return `${all} s`;
  if (hours < 1) return `${minutes} min ${two(all % 60)} s`;
  if (days < 1) return `${hours} h ${two(minutes % 60)} min`;
  return `${days} d ${hours % 24} h`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

export function ago(seconds: number): string {
  return seconds < 1 ? "just now" : `${duration(seconds)} ago`;
}

const hands = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** 12:34:56, of a Unix time */
export function clock(moment: number): string {
  return hands.format(moment * 1000);
}
