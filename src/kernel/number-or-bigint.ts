/** `digits`: a whole number, in decimal. A bigint only where a number cannot hold it. */
export function numberOrBigint(digits: string): number | bigint {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : BigInt(digits);
}
