/** Dead letters that are read before they are asked for: few reads, and never an old letter. */
import { expect, test } from 'vitest';
import { LettersAhead } from '../../../src/actors/deadletters/queue/queue-index.ts';
import type { ListedLetter } from '../../../src/deadletters/letter-commands.ts';
import { letterRow } from '../../../src/deadletters/letter-records.ts';
import type { Letter } from '../../../src/deadletters/letter.ts';
import { letterOf } from '../../deadletters/letters.ts';

class Queue {
  readonly letters = new Map<number, Letter>();
  reads = 0;
  duringRead: () => void = () => {};
  readonly ahead = new LettersAhead({
    letter: async (messageId) => {
      this.reads += 1;
      const letter = this.#listed(messageId);
      if (letter !== undefined) return { kind: 'letter', letter };
      return { kind: 'rejected', rejection: { reason: 'not-in-queue', message: 'it is not there' } };
    },
    lettersFrom: async (messageId, max) => {
      this.reads += 1;
      const page = Array.from({ length: max }, (_, index) => this.#listed(messageId + index)).filter((letter) => letter !== undefined);
      this.duringRead();
      return page[0]?.row.messageId === messageId ? page : [];
    },
  });

  constructor(letters: number) {
    for (let id = 0; id < letters; id++) this.letters.set(id, letterOf(1, id + 1));
  }

  /** As a record of the journal says. */
  failedAgain(messageId: number): void {
    const letter = letterOf(1, messageId + 1, { generation: 1 });
    this.letters.set(messageId, letter);
    this.ahead.committed({ kind: 'letter', timeMs: 0, messageId, letter });
  }

  /** Undefined: it is not there. */
  async generationOf(messageId: number): Promise<number | undefined> {
    const read = await this.ahead.read(messageId);
    return read.kind === 'letter' ? read.letter.row.generation : undefined;
  }

  #listed(messageId: number): ListedLetter | undefined {
    const letter = this.letters.get(messageId);
    if (letter === undefined) return undefined;
    const row = letterRow({ kind: 'letter', timeMs: 0, messageId, letter }, { sourceCluster: 'active', offset: 0 });
    return { row, content: { value: letter.task.value, headers: [], letter, problem: '' } };
  }
}

test('a thousand dead letters in a row need few reads, and each is the one that was asked for', async () => {
  const queue = new Queue(1_000);
  for (let id = 0; id < 1_000; id++) {
    const read = await queue.ahead.read(id);
    expect(read).toMatchObject({ kind: 'letter', letter: { row: { messageId: id } } });
  }
  expect(queue.reads).toBeLessThan(20);
  expect(await queue.generationOf(1_000)).toBeUndefined();
});

test('what failed again since it was read, or while it was, is read again', async () => {
  const queue = new Queue(10);
  expect(await queue.generationOf(0)).toBe(0);
  queue.failedAgain(1);
  expect(await queue.generationOf(1)).toBe(1);
  queue.duringRead = () => queue.failedAgain(6);
  expect(await queue.generationOf(5)).toBe(0);
  expect(await queue.generationOf(6)).toBe(1);
});
