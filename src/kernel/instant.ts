/** Instants are nanoseconds since 1970, as bigints: a number counts them exactly only up to April 1970. */
export const nsPerMs = 1_000_000n;

/** The whole milliseconds below it, also before 1970, and the nanoseconds from there. */
export function splitInstant(nanoseconds: bigint): { readonly ms: bigint; readonly part: bigint } {
  const part = ((nanoseconds % nsPerMs) + nsPerMs) % nsPerMs;
  return { ms: (nanoseconds - part) / nsPerMs, part };
}
