/** Texts as visibility keeps and compares them: one meaning for every database. */

/** PostgreSQL takes no NUL, and half of a surrogate pair is no UTF-8: both become U+FFFD, in rows and in what rows are compared with. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/**
 * The words of a Text attribute, each once: runs of letters and digits in lower case, without their accents. Both what is stored and what
 * is asked for is split so; any word in common makes them equal.
 *
 * The words are those of SQLite's `unicode61` tokenizer (which leaves Greek its accents), with which Temporal's development server indexes.
 * There a piece between spaces is a phrase (`foo-bar` = foo before bar); here it is two words.
 */
export function wordsOf(text: string): readonly string[] {
  const plain = text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .normalize('NFC');
  const folded = plain.toLowerCase().replaceAll('ς', 'σ');
  return [...new Set(folded.match(/[\p{L}\p{N}\p{Co}]+/gu))];
}
