/** Durations as Go writes them (`time.ParseDuration`): `1h30m`, `1.5s`, `-2us`, `0`. */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  // U+00B5 and U+03BC: both are in use for micro.
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Go counts nanoseconds in 64 bits: 292 years. */
const durationMsMax = (2 ** 63 - 1) / 1e6;
const whole = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g;

/** The duration in milliseconds, which may have a fraction. undefined: `text` is no duration, or longer than any. */
export function goDurationMs(text: string): number | undefined {
  if (!whole.test(text)) return undefined;
  let totalMs = 0;
  for (const [, number, unit] of text.matchAll(part)) totalMs += Number(number) * (unitMs[unit ?? ''] ?? 0);
  if (totalMs > durationMsMax) return undefined;
  return text.startsWith('-') ? -totalMs : totalMs;
}
