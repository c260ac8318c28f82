const beginningLengthMin = 3;

/** The known word that was probably meant: at most two edits away (one for short words), the nearest first; or the only one that begins so. */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  const editsMax = word.length <= 3 ? 1 : 2;
  let best: string | undefined;
  let bestEdits = editsMax + 1;
  for (const candidate of known) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestEdits);
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best ?? onlyOneThatBegins(word, known);
}

/** Half a word may be the beginning of many; of a letter or two it says nothing. */
function onlyOneThatBegins(word: string, known: Iterable<string>): string | undefined {
  if (word.length < beginningLengthMin) return undefined;
  const beginning = word.toLowerCase();
  const found = [...known].filter((candidate) => candidate.toLowerCase().startsWith(beginning));
  return found.length === 1 ? found[0] : undefined;
}

/** With swaps of neighbours, up to `limit`. Three rows are enough: a swap looks back two. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let edits = Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        edits = Math.min(edits, (beforePrevious[column - 2] ?? 0) + 1);
      }
      current.push(edits);
    }
    beforePrevious = previous;
    previous = current;
  }
  return Math.min(previous[b.length] ?? 0, limit);
}
