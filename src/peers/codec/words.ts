/** Words of the cores, sent as they are. What is read is one of them or refused. */
import { WireError } from '../../wire/wire-error.ts';

/** Total: a word that is missing does not compile. */
export type Words<Word extends string> = { readonly [One in Word]: true };

export function wordOf<Word extends string>(words: Words<Word>, text: string, field: string): Word {
  if (!isWord(words, text)) throw new WireError(`${field} is ${JSON.stringify(text)}`);
  return text;
}

function isWord<Word extends string>(words: Words<Word>, text: string): text is Word {
  return Object.hasOwn(words, text);
}
