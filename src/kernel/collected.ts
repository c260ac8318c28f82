/** Long lists, made in steps that somebody else may stop between. */

/** Taking an item costs next to nothing, so this many are one step. */
const itemsTogether = 100;

export function* collected<Item>(items: Iterable<Item>): Generator<undefined, Item[]> {
  const all: Item[] = [];
  for (const item of items) {
    all.push(item);
    if (all.length % itemsTogether === 0) yield;
  }
  return all;
}
