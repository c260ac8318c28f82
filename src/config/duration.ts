const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** 2^63 − 1 nanoseconds, the longest that Go's durations reach: about 292 years. */
const durationMsMax = 9_223_372_036_854;

/** A duration as Go writes it (`1h30m`, `500ms`), in whole milliseconds, rounded up. Undefined for anything else: no unit, days, a sign. */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    totalMs += Number(amount) * (unitMs[unit ?? ''] ?? Number.NaN);
  }
  if (!(totalMs <= durationMsMax)) return undefined;
  if (totalMs > 0 && totalMs < 1) return 1;
  // Sums such as 0.1s + 0.2s miss a whole number by a hair; that hair is no millisecond.
  const whole = Math.round(totalMs);
  return Math.abs(totalMs - whole) < 1e-9 * totalMs ? whole : Math.ceil(totalMs);
}

/** The shortest Go form: `90000` is `1m30s`. */
export function formatDurationMs(durationMs: number): string {
  if (durationMs === 0) return '0s';
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = Math.floor((durationMs % 60_000) / 1_000);
  const rest = durationMs % 1_000;
  const parts = Object.entries({ h: hours, m: minutes, s: seconds, ms: rest });
  return parts.map(([unit, amount]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
}
