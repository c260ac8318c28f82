/** One journal as the model of all that is made of it: every record that was ever appended, trimmed or not, by the rule of effective records. */
import { CountingRule } from './oracle.ts';
import type { StoredRecord } from '../../src/ports/log.ts';

export abstract class FoldedJournal<State, Record> {
  readonly #records: readonly StoredRecord[];
  #rule = new CountingRule();
  #state: State | undefined;
  #next = 0;

  /** `records`: all that were ever appended; more may come. */
  constructor(records: readonly StoredRecord[]) {
    this.#records = records;
  }

  protected abstract empty(): State;
  protected abstract decode(stored: StoredRecord): Record;
  protected abstract apply(state: State, record: Record): void;

  /** Up to that offset, with its record; each time the same object. */
  folded(lastOffset = Infinity): State {
    if (this.#state === undefined || lastOffset < this.#next - 1) {
      this.#rule = new CountingRule();
      this.#state = this.empty();
      this.#next = 0;
    }
    for (; this.#next < this.#records.length && this.#next <= lastOffset; this.#next++) {
      const record = this.#records[this.#next]!;
      if (this.#rule.counts(record)) this.apply(this.#state, this.decode(record));
    }
    return this.#state;
  }

  /** Of the last record that counts; -1: none does. */
  get lastOffset(): number {
    return this.effective().at(-1)?.offset ?? -1;
  }

  protected effective(): { readonly offset: number; readonly record: Record }[] {
    const rule = new CountingRule();
    return this.#records.filter((stored) => rule.counts(stored)).map((stored) => ({ offset: stored.offset, record: this.decode(stored) }));
  }
}

/** Where they part, for people. */
export function difference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 120), at + 120);
  return `…${around(one)}… instead of …${around(other)}…`;
}
