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

export function asCore<Core>(message: Complete<Core>): Core {
  return message;
}

/** A word of the core for each number of an enumeration; total, so that a word without a number does not compile. */
export type NumberOf<Word extends string> = { readonly [One in Word]: number };

/** undefined: no program has written this number. */
export function wordOf<Word extends string>(numbers: NumberOf<Word>, number: number): Word | undefined {
  for (const word in numbers) if (numbers[word] === number) return word;
  return undefined;
}
