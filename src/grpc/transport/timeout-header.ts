const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` as whole milliseconds, rounded up; Infinity when absent, NaN when it cannot be read. */
export function timeoutMs(header: string): number {
  if (header === '') return Infinity;
  const match = /^(\d{1,8})([HMSmun])$/.exec(header);
  return match === null ? Number.NaN : Math.ceil(Number(match[1]) * (unitMs[match[2] as string] as number));
}

/** Timers of Node hold 31 bits; a longer wait would end at once. */
export const timerMsMax = 2 ** 31 - 1;
