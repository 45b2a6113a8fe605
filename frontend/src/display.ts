/** Text from the web with hidden characters escaped, numbers and times, all as `gossamer/basics/display.py` writes them. */

// Invisible characters that change how other text looks: controls, direction marks, blank letters. Joiners between two
// characters beyond ASCII stay, because Persian, Indic scripts and emoji need them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: the class holds single code points
  /(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])|([\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}])/gu;

/** Escapes hidden characters, so that text from the web cannot disguise itself. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (all, hidden: string | undefined) =>
    hidden === undefined ? all : escapeCharacter(hidden),
  );
}

function escapeCharacter(character: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return short ?? (code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `«U+${hex.toUpperCase().padStart(4, "0")}»`);
}

const countFormat = new Intl.NumberFormat("en");
const decimalFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });

/** 12,345 */
export function formatCount(number: number): string {
  return countFormat.format(number);
}

/** 12.3 */
export function formatDecimal(number: number): string {
  return decimalFormat.format(number);
}

/** 12.3 MB */
export function formatBytes(amount: number): string {
  let rest = amount;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (rest < 999.5)
      return unit === "B" || rest >= 99.95 ? `${Math.round(rest)} ${unit}` : `${formatDecimal(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${formatDecimal(rest)} TB`;
}

const WHOLE_DAYS = 100; // from so many days on, a duration has no hours

/** 12 s; 3 min 20 s; 2 h 05 min; 406 d */
export function formatDuration(seconds: number): string {
  const all = Math.round(seconds);
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(all / unit)) as [number, number, number];
  if (minutes < 1) return `${all} s`;
  if (hours < 1) return `${minutes} min ${twoDigits(all % 60)} s`;
  if (days < 1) return `${hours} h ${twoDigits(minutes % 60)} min`;
  return days < WHOLE_DAYS ? `${days} d ${hours % 24} h` : `${formatCount(days)} d`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

export function formatAge(seconds: number): string {
  return seconds < 1 ? "just now" : `${formatDuration(seconds)} ago`;
}

const clockFormat = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** 12:34:56, from a Unix time in seconds */
export function formatClock(seconds: number): string {
  return clockFormat.format(seconds * 1000);
}
