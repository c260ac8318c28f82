import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeadLetterCommand, DeadLetterEffect, DeadLetterReply, IdRange, MergeOutcome } from '../../src/deadletters/letter-commands.ts';
import { HAND_OVER_LETTERS_MAX, HandOvers } from '../../src/deadletters/hand-overs.ts';
import { QueueCore } from '../../src/deadletters/queue-core.ts';
import { QueueState } from '../../src/deadletters/queue-state.ts';
import type { DeadLetterRecord } from '../../src/deadletters/letter-records.ts';
import { letterOf } from './letters.ts';

const SHARDS = 3;

/** A queue, and the journal that it writes. */
class Queue {
  core = new QueueCore();
  readonly journal: DeadLetterRecord[] = [];
  #askId = 0;
  /** The next sequence of each shard. */
  readonly sequences = new Map<number, number>();

  ask(command: DeadLetterCommand): { readonly reply: DeadLetterReply | undefined; readonly effects: readonly DeadLetterEffect[] } {
    const handled = this.core.handle(command, 1_000, ++this.#askId);
    this.core.accept(handled);
    if (handled.kind === 'commit') this.journal.push(...(handled.before ?? []), handled.record);
    return { reply: handled.kind === 'wait' ? undefined : handled.reply, effects: handled.effects };
  }

  /** The reply, which is one of that kind. */
  expectReply<Kind extends DeadLetterReply['kind']>(kind: Kind, command: DeadLetterCommand): DeadLetterReply & { readonly kind: Kind } {
    const { reply } = this.ask(command);
    if (reply?.kind !== kind) throw new Error(`expected ${kind}, got ${JSON.stringify(reply)}`);
    return reply as DeadLetterReply & { readonly kind: Kind };
  }

  handOver(shard: number, count: number): readonly number[] {
    const first = this.sequences.get(shard) ?? 1;
    const letters = Array.from({ length: count }, (_, index) => letterOf(shard, first + index));
    const { ids } = this.expectReply('accepted', { kind: 'acceptLetters', shard, letters });
    this.sequences.set(shard, first + count);
    return ids;
  }

  claim(jobId: string, ...ranges: readonly IdRange[]): DeadLetterReply | undefined {
    return this.ask({ kind: 'claimLetters', jobId, ranges }).reply;
  }

  purge(jobId: string, ...ids: readonly number[]): DeadLetterReply | undefined {
    const letters = ids.map((messageId) => ({ messageId, generation: 0 }));
    return this.ask({ kind: 'purgeLetters', jobId, who: 'anna', why: 'duplicates', letters }).reply;
  }

  merge(jobId: string, messageId: number, outcome: MergeOutcome, overridesLoopGuard = false): DeadLetterReply | undefined {
    const asked = this.ask({ kind: 'mergeLetter', jobId, who: 'anna', why: '', messageId, overridesLoopGuard });
    if (asked.effects[0]?.kind !== 'executeLetter') return asked.reply;
    const [effect] = this.ask({ kind: 'finishMerge', messageId, outcome }).effects;
    return effect?.kind === 'reply' ? effect.reply : undefined;
  }

  /** As a takeover does: what is volatile is gone. */
  restart(): void {
    this.core = replayed(this.journal);
  }

  get counts(): readonly number[] {
    const { open, quarantined, merged, purged } = this.expectReply('counted', { kind: 'countLetters' });
    return [open, quarantined, merged, purged];
  }
}

function replayed(journal: readonly DeadLetterRecord[], clusterId = '', newIncarnation = 1): QueueCore {
  const core = new QueueCore(new QueueState(undefined, 0, clusterId), newIncarnation);
  for (const record of journal) core.evolve(record);
  return core;
}

const all: IdRange = { from: 0, to: 1_000_000 };
const rejection = (reply: DeadLetterReply | undefined): string | undefined =>
  reply?.kind === 'rejected' ? reply.rejection.reason : reply?.kind;

describe('a dead letter queue', () => {
  test('ids are given in order from 0, and a hand-over that is repeated gets the same ones, also when they are resolved', () => {
    const queue = new Queue();
    expect(queue.handOver(1, 3)).toEqual([0, 1, 2]);
    expect(queue.handOver(2, 2)).toEqual([3, 4]);
    queue.claim('job', all);
    queue.purge('job', 0, 1, 2);
    const again = { kind: 'acceptLetters', shard: 1, letters: [1, 2, 3].map((sequence) => letterOf(1, sequence)) } as const;
    const written = queue.journal.length;
    expect(queue.expectReply('accepted', again).ids).toEqual([0, 1, 2]);
    queue.restart();
    expect(queue.expectReply('accepted', again).ids).toEqual([0, 1, 2]);
    expect(queue.journal).toHaveLength(written);
    expect(queue.handOver(1, 1)).toEqual([5]);
  });

  test('a hand-over of which a crash has left the first dead letters is completed when it is repeated', () => {
    const queue = new Queue();
    queue.handOver(1, 4);
    // Of a head and four letters, with the incarnation in front.
    queue.journal.splice(3);
    queue.restart();
    expect(queue.handOver(2, 1)).toEqual([2]);
    queue.sequences.set(1, 1);
    expect(queue.handOver(1, 4)).toEqual([0, 1, 3, 4]);
    queue.sequences.set(1, 1);
    expect(queue.handOver(1, 4)).toEqual([0, 1, 3, 4]);
  });

  test('what a shard hands over behind dead letters that are not there is taken, and the loss is reported, once', () => {
    const queue = new Queue();
    queue.handOver(2, 3);
    const handOver = (shard: number, sequence: number) => queue.ask({ kind: 'acceptLetters', shard, letters: [letterOf(shard, sequence)] });
    const taken = (id: number, from: number, to: number, shard: number) => ({
      reply: { kind: 'accepted', ids: [id] },
      effects: [{ kind: 'lettersLost', shard, from, to }],
    });
    expect(handOver(1, 41)).toEqual(taken(3, 1, 40, 1));
    expect(handOver(2, 5)).toEqual(taken(4, 4, 4, 2));
    queue.restart();
    expect(handOver(1, 41)).toEqual({ reply: { kind: 'accepted', ids: [3] }, effects: [] });
    expect(handOver(1, 42)).toEqual({ reply: { kind: 'accepted', ids: [5] }, effects: [] });
    expect(handOver(2, 4).reply).toMatchObject({ kind: 'rejected' });
    expect(queue.counts).toEqual([6, 0, 0, 0]);
  });

  test.each([
    ['none', 1, []],
    ['too many', 1, Array.from({ length: HAND_OVER_LETTERS_MAX + 1 }, (_, index) => letterOf(1, index + 1))],
    ['some left out', 1, [letterOf(1, 1), letterOf(1, 3)]],
    ['numbered from 0', 1, [letterOf(1, 0)]],
    ['numbered between two', 1, [letterOf(1, 0.5)]],
    ['numbered beyond what is exact', 1, [0, 1].map((nth) => letterOf(1, Number.MAX_SAFE_INTEGER + nth))],
    ['of another shard', 1, [letterOf(2, 1)]],
    ['about a task of another shard', 1, [{ ...letterOf(1, 1), task: letterOf(2, 1).task }]],
    ['of no shard', 0, [letterOf(0, 1)]],
    ['of no shard that there could be', NaN, [letterOf(NaN, 1)]],
  ])('a hand-over with dead letters that are %s is refused and changes nothing', (_, shard, letters) => {
    const queue = new Queue();
    expect(rejection(queue.ask({ kind: 'acceptLetters', shard, letters }).reply)).toBe('invalid-argument');
    expect(queue.journal).toEqual([]);
    expect(queue.handOver(1, 1)).toEqual([0]);
  });

  test('two jobs never have the same dead letter; the second is told who has it', () => {
    const queue = new Queue();
    queue.handOver(1, 9);
    expect(rejection(queue.claim('one', { from: 0, to: 2 }, { from: 5, to: 5 }))).toBe('done');
    expect(queue.claim('two', { from: 3, to: 3 }, { from: 5, to: 8 })).toMatchObject({
      rejection: { reason: 'overlap', holders: ['one'] },
    });
    expect(rejection(queue.claim('two', { from: 3, to: 4 }, { from: 6, to: 8 }))).toBe('done');
    expect(rejection(queue.purge('two', 3, 5))).toBe('not-claimed');
    expect(queue.purge('two', 3, 8)).toEqual({ kind: 'purged', ids: [3, 8], gone: [], merged: [], executing: [] });
    queue.ask({ kind: 'releaseClaim', jobId: 'one' });
    expect(rejection(queue.purge('one', 5))).toBe('not-claimed');
    expect(rejection(queue.claim('three', { from: 0, to: 2 }))).toBe('done');
  });

  test.each([
    ['no range', []],
    ['a range that is turned round', [{ from: 2, to: 1 }]],
    ['an id below 0', [{ from: -1, to: 1 }]],
    ['an id that is no number', [{ from: 0, to: NaN }]],
    ['an id that is not exact', [{ from: 0, to: 2 ** 53 }]],
    [
      'ranges out of order',
      [
        { from: 5, to: 6 },
        { from: 1, to: 2 },
      ],
    ],
    [
      'ranges that touch',
      [
        { from: 1, to: 5 },
        { from: 5, to: 6 },
      ],
    ],
    [
      'ranges that are one',
      [
        { from: 1, to: 5 },
        { from: 6, to: 6 },
      ],
    ],
    ['too many ranges', Array.from({ length: 10_001 }, (_, index) => ({ from: 2 * index, to: 2 * index }))],
  ])('a claim with %s is refused', (_, ranges) => {
    expect(rejection(new Queue().claim('job', ...ranges))).toBe('invalid-argument');
  });

  test('sixteen jobs at a time, and each may claim again', () => {
    const queue = new Queue();
    for (let job = 0; job < 16; job++) expect(rejection(queue.claim(`${job}`, { from: job, to: job }))).toBe('done');
    expect(rejection(queue.claim('16', { from: 16, to: 16 }))).toBe('too-many-jobs');
    expect(rejection(queue.claim('3', { from: 30, to: 31 }))).toBe('done');
  });

  test('a job keeps its dead letters until what it has under way is over', () => {
    const queue = new Queue();
    queue.handOver(1, 2);
    queue.claim('job', all);
    queue.ask({ kind: 'mergeLetter', jobId: 'job', who: 'anna', why: '', messageId: 1, overridesLoopGuard: false });
    expect(rejection(queue.ask({ kind: 'releaseClaim', jobId: 'job' }).reply)).toBe('being-merged');
    expect(rejection(queue.claim('other', { from: 0, to: 0 }))).toBe('overlap');
    queue.ask({ kind: 'finishMerge', messageId: 1, outcome: { kind: 'skipped', reason: 'undecodable' } });
    expect(rejection(queue.ask({ kind: 'releaseClaim', jobId: 'job' }).reply)).toBe('done');
    expect(rejection(queue.claim('other', { from: 0, to: 0 }))).toBe('done');
  });

  test('a purge tells what was gone, writes a tombstone for each dead letter, and touches no other', () => {
    const queue = new Queue();
    queue.handOver(1, 5);
    queue.claim('job', all);
    queue.purge('job', 1);
    const written = queue.journal.length;
    expect(queue.purge('job', 3, 1, 3, 77)).toEqual({ kind: 'purged', ids: [3], gone: [1, 77], merged: [], executing: [] });
    expect(queue.journal.slice(written)).toEqual([
      { kind: 'resolved', timeMs: 1_000, messageId: 3, how: 'purged', who: 'anna', why: 'duplicates', jobId: 'job', generation: 0 },
      { kind: 'head', timeMs: 1_000, nextId: 5, lowestOpen: 0, cut: 0, uncutPurges: 0, incarnation: 1 },
    ]);
    expect(queue.counts).toEqual([3, 0, 0, 2]);
  });

  test.each<[string, DeadLetterCommand]>([
    ['half an id', { kind: 'readLetter', messageId: 0.5 }],
    ['no id', { kind: 'readLetter', messageId: NaN }],
    ['a page from half an id on', { kind: 'findLetters', condition: undefined, afterMessageId: 0.5, max: 1 }],
    ['a page of no size', { kind: 'findLetters', condition: undefined, afterMessageId: -1, max: NaN }],
    [
      'a timeout that is none',
      { kind: 'mergeLetter', jobId: 'job', who: 'anna', why: '', messageId: 0, overridesLoopGuard: false, taskTimeoutMs: NaN },
    ],
  ])('%s is refused', (_, command) => {
    const queue = new Queue();
    queue.handOver(1, 2);
    queue.claim('job', all);
    expect(rejection(queue.ask(command).reply)).toBe('invalid-argument');
  });

  test.each([
    ['half an id', { messageId: 0.5 }],
    ['no id', { messageId: NaN }],
    ['an id below 0', { messageId: -1 }],
    ['a generation that is no number', { generation: NaN }],
    ['a reason that no record takes', { why: 'x'.repeat(501) }],
    ['a name that no record takes', { who: 'x'.repeat(70_000) }],
  ])('a purge or merge with %s is refused and writes nothing', (_, wrong) => {
    const queue = new Queue();
    queue.handOver(1, 2);
    queue.claim('job', all);
    const written = queue.journal.length;
    const { messageId, generation, who, why } = { messageId: 0, generation: 0, who: 'anna', why: '', ...wrong };
    const asked = { jobId: 'job', who, why } as const;
    expect(rejection(queue.ask({ kind: 'purgeLetters', ...asked, letters: [{ messageId, generation }] }).reply)).toBe('invalid-argument');
    if (!('generation' in wrong)) {
      const merge = { kind: 'mergeLetter', ...asked, messageId, overridesLoopGuard: false } as const;
      expect(rejection(queue.ask(merge).reply)).toBe('invalid-argument');
    }
    expect(queue.journal).toHaveLength(written);
    expect(queue.counts).toEqual([2, 0, 0, 0]);
  });

  test('a dead letter that cannot be read any more keeps its id for its shard, which goes on behind it', () => {
    const queue = new Queue();
    queue.handOver(1, 3);
    queue.core = replayed(
      queue.journal.map((record) => {
        if (record.kind !== 'letter' || record.messageId === 0) return record;
        const { messageId, letter } = record;
        return { kind: 'damaged', timeMs: 1, messageId, reason: 'schema 9', handOver: letter.handOver, state: 'open' };
      }),
    );
    queue.sequences.set(1, 1);
    expect(queue.handOver(1, 4)).toEqual([0, 1, 2, 3]);
    expect(queue.counts).toEqual([4, 0, 0, 0]);
  });

  test('where one hand-over in between cannot be answered, no other id is answered for it', () => {
    const handOvers = new HandOvers();
    for (const sequence of [1, 2, 4, 5]) handOvers.note(1, { sequence, messageId: 10 + sequence });
    expect([1, 2, 3, 4, 5, 6].map((sequence) => handOvers.judge(1, sequence, 0))).toEqual([
      { kind: 'forgotten' },
      { kind: 'forgotten' },
      { kind: 'forgotten' },
      { kind: 'known', messageId: 14 },
      { kind: 'known', messageId: 15 },
      { kind: 'next', missing: 0 },
    ]);
  });

  test('an incarnation is drawn with the first dead letter, stays through restarts and compactions, and its ids are good in it alone', () => {
    const queue = new Queue();
    queue.core = new QueueCore(undefined, 7);
    const claim = (incarnation: number): string | undefined =>
      rejection(queue.ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 9 }], incarnation }).reply);
    expect([claim(8), claim(7)]).toEqual(['began-anew', 'done']);
    queue.handOver(1, 2);
    expect(queue.journal[0], 'a crash may leave no more than this and a letter').toMatchObject({ kind: 'head', nextId: 0, incarnation: 7 });
    for (let length = 2; length <= queue.journal.length; length++) {
      const core = replayed(queue.journal.slice(0, length), undefined, 9);
      expect([core.incarnation, new QueueCore(new QueueState(core.state.snapshot()), 9).incarnation]).toEqual([7, 7]);
    }
    queue.core = replayed(queue.journal, undefined, 9);
    queue.ask({ kind: 'beginCarrying' });
    queue.ask({ kind: 'carryLetters', letters: [0, 1].map((messageId) => ({ messageId, letter: letterOf(1, messageId + 1) })) });
    const behind = queue.journal.length;
    queue.ask({ kind: 'finishCarrying', cut: 5 });
    queue.core = replayed(queue.journal.slice(behind), undefined, 9);
    expect([queue.core.incarnation, claim(9), claim(0), claim(7)]).toEqual([7, 'began-anew', 'began-anew', 'done']);
  });

  test('a number of a shard that no shard counts to is refused where its sender is no shard, and keeps nobody else out', () => {
    const queue = new Queue();
    queue.handOver(1, 2);
    const put = (first: number) => ({ kind: 'acceptLetters', shard: 1, letters: [letterOf(1, first)], missingMax: 100 }) as const;
    for (const first of [Number.MAX_SAFE_INTEGER, 104]) expect(rejection(queue.ask(put(first)).reply)).toBe('invalid-argument');
    expect(queue.handOver(1, 1)).toEqual([2]);
    expect(queue.expectReply('accepted', put(104)).ids).toEqual([3]);
  });

  test('another task under a number that is known becomes a dead letter of its own, with a word, and is known by it from then on', () => {
    const queue = new Queue();
    queue.handOver(1, 3);
    const other = letterOf(1, 2);
    const again = [letterOf(1, 1), { ...other, task: { ...other.task, workflowId: 'another' } }, letterOf(1, 3), letterOf(1, 4)];
    const asked = { kind: 'acceptLetters', shard: 1, letters: again } as const;
    const { reply, effects } = queue.ask(asked);
    expect(reply).toEqual({ kind: 'accepted', ids: [0, 3, 2, 4] });
    expect(effects).toEqual([{ kind: 'handOverReused', shard: 1, sequence: 2, messageId: 1 }]);
    queue.restart();
    expect(queue.ask(asked)).toEqual({ reply: { kind: 'accepted', ids: [0, 3, 2, 4] }, effects: [] });
  });

  test('what shards of a cluster that was here before have handed over is none of this one, whose numbers begin at 1 again', () => {
    const queue = new Queue();
    queue.handOver(1, 100);
    queue.core = replayed(queue.journal, 'made anew');
    queue.sequences.clear();
    expect(queue.handOver(1, 2)).toEqual([100, 101]);
    queue.sequences.clear();
    queue.core = replayed(queue.journal, 'made anew');
    expect(queue.handOver(1, 3)).toEqual([100, 101, 102]);
  });

  test('a merge: applied, failed with its next generation, quarantined, past the loop guard', () => {
    const queue = new Queue();
    queue.handOver(1, 2);
    queue.claim('job', all);
    expect(queue.merge('job', 0, { kind: 'merged', how: 'merged-noop', generation: 0, detail: 'the workflow is gone' })).toEqual({
      kind: 'mergeEnded',
      outcome: 'merged-noop',
      detail: 'the workflow is gone',
    });
    expect(queue.journal).toContainEqual(expect.objectContaining({ how: 'merged-noop', detail: 'the workflow is gone' }));
    const failed = { kind: 'failed', isSameCause: true, letter: letterOf(1, 2, { generation: 1 }) } as const;
    expect(queue.merge('job', 1, failed)).toMatchObject({ outcome: 'failed', isQuarantined: false, error: { errorType: 'Unavailable' } });
    const guarded = { kind: 'failed', isSameCause: true, letter: letterOf(1, 2, { generation: 2, state: 'quarantined' }) } as const;
    expect(queue.merge('job', 1, guarded)).toMatchObject({ outcome: 'failed', isQuarantined: true });
    expect(queue.counts).toEqual([0, 1, 1, 0]);
    expect(queue.merge('job', 1, failed)).toEqual({ kind: 'mergeEnded', outcome: 'skipped', reason: 'loop-guard' });
    expect(queue.merge('job', 1, { kind: 'merged', how: 'merged', generation: 2 }, true)).toMatchObject({ outcome: 'merged' });
    expect(rejection(queue.merge('job', 1, failed))).toBe('not-in-queue');
    expect(rejection(queue.merge('job', 99, failed))).toBe('not-in-queue');
    expect(queue.counts).toEqual([0, 0, 2, 0]);
  });

  test('a dead letter that is being merged is merged once and not purged; whoever asked may go away meanwhile', () => {
    const queue = new Queue();
    queue.handOver(1, 1);
    queue.claim('job', all);
    const merge = { kind: 'mergeLetter', jobId: 'job', who: '', why: '', messageId: 0, overridesLoopGuard: false } as const;
    expect(queue.core.handle(merge, 1, 41)).toMatchObject({ kind: 'wait', effects: [{ kind: 'executeLetter', messageId: 0 }] });
    queue.core.accept(queue.core.handle(merge, 1, 41));
    expect(rejection(queue.ask(merge).reply)).toBe('being-merged');
    expect(queue.purge('job', 0)).toEqual({ kind: 'purged', ids: [], gone: [0], merged: [], executing: [] });
    queue.core.accept(queue.core.cancel(41));
    expect(queue.ask({ kind: 'finishMerge', messageId: 0, outcome: { kind: 'merged', how: 'merged', generation: 0 } }).effects).toEqual([]);
    expect(queue.counts).toEqual([0, 0, 1, 0]);
  });

  test('a purge that is asked again while shards are asked for its dead letters goes on with them, and asks no shard twice', () => {
    const queue = new Queue();
    queue.handOver(1, 3);
    queue.ask({ kind: 'noteOutstanding', messageIds: [0, 1] });
    queue.claim('job', all);
    const letters = [0, 1, 2].map((messageId) => ({ messageId, generation: 0 }));
    const purge = { kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters } as const;
    const asked = queue.ask(purge);
    expect(asked.effects.map(({ kind }) => kind)).toEqual(['withdrawLetter', 'withdrawLetter']);
    // Whoever asked has waited for long enough.
    queue.core.accept(queue.core.cancel(1_000));
    queue.claim('job', all);
    expect(queue.ask({ ...purge, letters: letters.slice(0, 2) })).toEqual({ reply: undefined, effects: [] });
    queue.ask({ kind: 'finishWithdrawal', messageId: 0, outcome: { kind: 'withdrawn', generation: 0 } });
    const [effect] = queue.ask({ kind: 'finishWithdrawal', messageId: 1, outcome: { kind: 'withdrawn', generation: 0 } }).effects;
    expect(effect).toMatchObject({ kind: 'reply', reply: { kind: 'purged', ids: [0, 1], gone: [] } });
    expect(queue.counts).toEqual([0, 0, 0, 3]);
  });

  test('what has come of an earlier merge is not written where the dead letter was merged once more since its shard was asked', () => {
    const queue = new Queue();
    queue.handOver(1, 1);
    queue.ask({ kind: 'noteOutstanding', messageIds: [0] });
    const nth = queue.core.maySettle(0) ?? 0;
    queue.claim('second', all);
    queue.merge('second', 0, { kind: 'failed', isSameCause: true, letter: letterOf(1, 1, { generation: 1 }) });
    const error = { errorType: 'OutcomeUnknown', errorMessage: '' };
    queue.merge('second', 0, { kind: 'unsettled', letter: letterOf(1, 1, { generation: 1 }), error, isUnknown: true });
    queue.ask({ kind: 'releaseClaim', jobId: 'second' });
    const written = queue.journal.length;
    queue.ask({ kind: 'settleLetter', messageId: 0, nth, outcome: { kind: 'merged', how: 'merged', generation: 0 } });
    expect(queue.journal).toHaveLength(written);
    // Its shard may execute it still, so it is asked before a purge.
    queue.claim('third', all);
    const purge = { kind: 'purgeLetters', jobId: 'third', who: 'anna', why: '', letters: [{ messageId: 0, generation: 1 }] } as const;
    expect(queue.ask(purge).effects).toMatchObject([{ kind: 'withdrawLetter', messageId: 0 }]);
  });

  test('a merge whose record could not be written is under way still', () => {
    const queue = new Queue();
    queue.handOver(1, 1);
    queue.claim('job', all);
    queue.ask({ kind: 'mergeLetter', jobId: 'job', who: '', why: '', messageId: 0, overridesLoopGuard: false });
    // Decided, and never accepted: its record was refused.
    queue.core.handle(
      { kind: 'finishMerge', messageId: 0, outcome: { kind: 'failed', isSameCause: true, letter: letterOf(1, 1, { generation: 1 }) } },
      1,
      0,
    );
    const [effect] = queue.ask({ kind: 'finishMerge', messageId: 0, outcome: { kind: 'skipped', reason: 'too large' } }).effects;
    expect(effect).toMatchObject({ kind: 'reply', reply: { kind: 'mergeEnded', outcome: 'skipped' } });
    expect(queue.counts).toEqual([1, 0, 0, 0]);
  });

  test('property: dead letters in = open + quarantined + merged + purged, at each step and after any record of the journal', () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('handOver'),
          shard: fc.integer({ min: 1, max: SHARDS }),
          count: fc.integer({ min: 1, max: 5 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('repeat'),
          shard: fc.integer({ min: 1, max: SHARDS }),
          count: fc.integer({ min: 1, max: 5 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('purge'), ids: fc.array(fc.nat(40), { minLength: 1, maxLength: 6 }) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('merge'), id: fc.nat(40), fails: fc.boolean(), quarantines: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash') }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const queue = new Queue();
        /** What shards have been told: sequence → id. */
        const told = new Map<string, number>();
        queue.claim('job', all);
        for (const each of steps) {
          if (each.kind === 'handOver') {
            const first = queue.sequences.get(each.shard) ?? 1;
            for (const [index, id] of queue.handOver(each.shard, each.count).entries()) told.set(`${each.shard} ${first + index}`, id);
          } else if (each.kind === 'repeat') {
            const last = (queue.sequences.get(each.shard) ?? 1) - 1;
            const first = Math.max(1, last - each.count + 1);
            if (last === 0) continue;
            const letters = Array.from({ length: last - first + 1 }, (_, index) => letterOf(each.shard, first + index));
            const { ids } = queue.expectReply('accepted', { kind: 'acceptLetters', shard: each.shard, letters });
            expect(ids).toEqual(letters.map(({ handOver }) => told.get(`${each.shard} ${handOver.sequence}`)));
          } else if (each.kind === 'purge') {
            const before = each.ids.map((id) => queue.core.state.ids.isLetter(id));
            const others = Array.from({ length: 41 }, (_, id) => id).filter((id) => !each.ids.includes(id));
            const statuses = others.map((id) => queue.core.state.ids.statusOf(id));
            expect(queue.purge('job', ...each.ids)).toMatchObject({ ids: [...new Set(each.ids.filter((_, at) => before[at]))] });
            expect(others.map((id) => queue.core.state.ids.statusOf(id))).toEqual(statuses);
          } else if (each.kind === 'merge') {
            const letter = letterOf(1, 1, { generation: 1, state: each.quarantines ? 'quarantined' : 'open' });
            queue.merge(
              'job',
              each.id,
              each.fails ? { kind: 'failed', isSameCause: true, letter } : { kind: 'merged', how: 'merged', generation: 0 },
              true,
            );
          } else {
            queue.restart();
            queue.claim('job', all);
          }
          const { ids } = queue.core.state;
          const [open = 0, quarantined = 0, merged = 0, purged = 0] = queue.counts;
          expect(open + quarantined + merged + purged).toBe(ids.nextId);
          expect(new Set(told.values()).size).toBe(told.size);
          expect(replayed(queue.journal).state.canonical()).toBe(queue.core.state.canonical());
        }
        for (let length = 0; length <= queue.journal.length; length++) {
          const core = replayed(queue.journal.slice(0, length));
          const restored = new QueueCore(new QueueState(core.state.snapshot()));
          for (const record of queue.journal.slice(length)) restored.evolve(record);
          expect(restored.state.canonical()).toBe(queue.core.state.canonical());
        }
      }),
      { numRuns: 60 },
    );
  });
});
