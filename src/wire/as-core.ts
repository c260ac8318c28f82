/**
 * A message that has the properties of a core's type, all of them and by the same names, stands for the core's value as it is: no code copies
 * properties, so none can forget one.
 *
 *     core     Activity { …, stamp, … }            the core gains `priority?`
 *     message  Activity { …, stamp, … }            the message lacks it: does not compile
 *
 * An optional property counts like any other. Its loss would compile otherwise, and nobody would notice.
 */
export type Complete<Core> = Core & { readonly [Name in keyof Core]-?: Core[Name] };

/** `Complete`, for a value and all that is in it. */
export type CompleteWithin<Core> = Core extends Leaf
  ? Core
  : Core extends readonly (infer Item)[]
    ? readonly CompleteWithin<Item>[]
    : { readonly [Name in keyof Core]-?: CompleteWithin<Core[Name]> };

type Leaf = string | number | bigint | boolean | undefined | Uint8Array | ReadonlyMap<string, unknown>;

export function asCore<Core>(message: Complete<Core>): Core {
  return message;
}

/** The other way: a property that is absent reads as undefined, so the core's value can be written as it is. */
export function asMessage<Core>(core: Core): Complete<Core> {
  return core as Complete<Core>;
}

/** A word of the core for each number of an enumeration; total, so that a word without a number does not compile. */
export type NumberOf<Word extends string> = { readonly [One in Word]: number };

/** undefined: no program has written this number. */
export function wordOf<Word extends string>(numbers: NumberOf<Word>, number: number): Word | undefined {
  for (const word in numbers) if (numbers[word] === number) return word;
  return undefined;
}
