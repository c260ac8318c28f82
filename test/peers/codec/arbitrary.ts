/** Values that all asks are made of. Total maps of arbitraries by kind: a kind that has none does not compile. */
import fc from 'fast-check';

export type ByKind<Union extends { readonly kind: string }> = {
  readonly [Kind in Union['kind']]: fc.Arbitrary<Extract<Union, { readonly kind: Kind }>>;
};

/** Every property is there, and the object is a common one. */
export function record<T>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true });
}

/** A property that may be absent, which is not the same as undefined. */
export function maybeWith<T, Name extends string, Value>(
  whole: fc.Arbitrary<T>,
  name: Name,
  value: fc.Arbitrary<Value>,
): fc.Arbitrary<T & { readonly [Key in Name]?: Value }> {
  const property = value.map((present): { readonly [Key in Name]?: Value } => one(name, present));
  return fc
    .tuple(whole, fc.oneof(fc.constant<{ readonly [Key in Name]?: Value }>({}), property))
    .map(([rest, extra]) => ({ ...rest, ...extra }));
}

function one<Name extends string, Value>(name: Name, value: Value): { readonly [Key in Name]?: Value } {
  // The compiler widens a computed name.
  return { [name]: value } as { readonly [Key in Name]?: Value };
}

export const orNone = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
export const word = <Word extends string>(...words: readonly Word[]): fc.Arbitrary<Word> => fc.constantFrom(...words);
export const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> => fc.array(item, { maxLength: 3 });
export const mapOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<ReadonlyMap<string, T>> =>
  fc.array(fc.tuple(text, value), { maxLength: 3 }).map((entries) => new Map(entries));

export const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.uuid(), fc.constantFrom('', '__proto__', 'größe'));
export const bytes = fc.uint8Array({ maxLength: 90 });
export const flag = fc.boolean();
/** Whatever our integers may be. */
export const count = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -1, max: 200 }), fc.constantFrom(0, 2 ** 32, Number.MAX_SAFE_INTEGER));
/** A value of an enum of the public API, known to us or not. */
export const enumValue = fc.oneof(fc.integer(), fc.integer({ min: 0, max: 12 }));
export const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }).filter((value) => !Object.is(value, -0));
export const anyNumber = fc.double({ noNaN: true }).filter((value) => !Object.is(value, -0));

export const runKey = record({ namespaceId: text, workflowId: text, runId: text });
export const idRange = record({ from: count, to: count });
export const caller = record({ authType: text, peer: text, client: text, requestId: text });
export const execution = record({ workflowId: text, runId: text });
export const taskQueue = record({ name: text, kind: enumValue, normalName: text });
export const retryPolicy = record({
  initialIntervalMs: count,
  backoffCoefficient: anyNumber,
  maximumIntervalMs: count,
  maximumAttempts: enumValue,
  nonRetryableErrorTypes: list(text),
});
export const queryResult = record({ answered: flag, answer: orNone(bytes), errorMessage: text, failure: orNone(bytes) });

/** The wall clock of whoever encodes or decodes. */
export const now = fc.integer({ min: 0, max: 4_000_000_000_000 });
/** Times that calls may name, or no time. */
export const moment = fc.oneof(now, fc.constant(0));

export const letterCause = word('retries-exhausted', 'permanent-error', 'namespace-deleted');
export const letterDisposition = word('poison', 'exhausted', 'systemic', 'target-gone', 'operator');
export const letterError = record({ errorType: text, errorMessage: text });
export const letterFailure = record({
  cause: letterCause,
  disposition: letterDisposition,
  errorType: text,
  errorMessage: text,
  errorStack: text,
  errorChain: list(letterError),
  fingerprint: text,
  attempts: count,
  firstFailureTimeMs: count,
  lastFailureTimeMs: count,
  handler: text,
  node: text,
  build: text,
});
