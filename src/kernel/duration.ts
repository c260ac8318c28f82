/** Temporal counts a longer duration as this one: 100 years. A few of them added to any date stay a safe whole number. */
export const durationMsMax = 100 * 365 * 24 * 60 * 60 * 1000;

/** Rounds to the nanosecond, as codecs write it and read it again: a product of fractions need not be a whole number of them. */
export function wholeNanoseconds(ms: number): number {
  const rest = ms % 1000;
  return ms - rest + Math.round(rest * 1e6) / 1e6;
}
