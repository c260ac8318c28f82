import { describe, expect, expectTypeOf, test } from 'vitest';
import { CLUSTER_ACTOR, Router } from '../../../src/actors/asks/router.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { asksAreCarried } from '../../support/asks-are-carried.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { ownWork, type AskContext, type AskFailure } from '../../../src/actors/asks/asks.ts';
import type { Asker } from '../../../src/actors/asks/router.ts';
import type { Endpoint } from '../../../src/actors/asks/switchboard.ts';
import type { HistoryRequest, QueryWorkflow, StartWorkflow } from '../../../src/history/commands/history-commands.ts';
import type { FireTimer } from '../../../src/history/commands/task-commands.ts';
import type { QueryReply, Rejected, StartReply } from '../../../src/history/run/history-replies.ts';
import type { Tick } from '../../../src/matching/matching-commands.ts';

const key = { namespaceId: 'ns', workflowId: 'wf', runId: '' };
const describeWorkflow = { kind: 'describeWorkflow', key } as const;
const resetStickyTaskQueue = { kind: 'resetStickyTaskQueue', key } as const;

class Actor<Request> implements Endpoint<Request> {
  readonly asked: { readonly askId: number; readonly request: Request }[] = [];
  readonly canceled: number[] = [];
  refuse: AskFailure | undefined;

  readonly contexts: AskContext[] = [];

  submit(askId: number, request: Request, context: AskContext): AskFailure | undefined {
    if (this.refuse === undefined) this.asked.push({ askId, request });
    this.contexts.push(context);
    return this.refuse;
  }

  cancel(askId: number): void {
    this.canceled.push(askId);
  }
}

function bench(callbackFailed?: (error: unknown) => void): {
  clock: HandClock;
  router: Router;
  actor: Actor<HistoryRequest>;
  answers: unknown[];
  ask: (deadlineMs?: number) => number;
} {
  const clock = new HandClock('when moved');
  const router = new Router(clock, callbackFailed);
  const actor = new Actor<HistoryRequest>();
  router.history.attach(1, actor);
  const answers: unknown[] = [];
  const ask = (deadlineMs = FAR_AWAY_MS): number =>
    router.askHistory(1, resetStickyTaskQueue, ownWork(deadlineMs), (answer) => answers.push(answer));
  return { clock, router, actor, answers, ask };
}

const done = { kind: 'done' } as const;
const rejected: Rejected = { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'none' } };

describe('router', () => {
  test('passes the request on, by reference or as bytes, and the answer back, once', () => {
    const { router, actor, answers, ask } = bench();
    const askId = ask();
    expect(actor.asked).toEqual([{ askId, request: resetStickyTaskQueue }]);
    expect(actor.asked[0]?.request === resetStickyTaskQueue).toBe(!asksAreCarried);
    const sink = router.history.sink(1);
    expect(sink.answer(askId, rejected)).toBe(true);
    expect(sink.answer(askId, done)).toBe(false);
    expect(answers).toEqual([rejected]);
    expect(router.history.openAsks).toBe(0);
  });

  test('a cancel reaches the actor; neither an answer nor the deadline reaches the caller any more', () => {
    const { clock, router, actor, answers, ask } = bench();
    const askId = ask(50);
    router.cancel(askId);
    router.cancel(askId);
    router.history.sink(1).answer(askId, done);
    clock.advance(1_000);
    expect(actor.canceled).toEqual([askId]);
    expect(answers).toEqual([]);
  });

  test('a cancel reaches that ask alone, whatever kind of actor was asked', () => {
    const { router, actor, ask } = bench();
    const cluster = new Actor();
    router.cluster.attach(CLUSTER_ACTOR, cluster);
    ask();
    const sync = router.askCluster({ kind: 'syncCluster' }, ownWork(FAR_AWAY_MS), () => {});
    router.cancel(sync);
    expect([actor.canceled, cluster.canceled]).toEqual([[], [sync]]);
    expect([router.history.openAsks, router.cluster.openAsks]).toEqual([1, 0]);
  });

  test('at the deadline the caller is answered and the actor informed; an answer before it stands', () => {
    const { clock, router, actor, answers, ask } = bench();
    const slow = ask(50);
    const quick = ask(50);
    router.history.sink(1).answer(quick, done);
    clock.advance(49);
    expect(answers).toEqual([done]);
    clock.advance(60);
    expect(answers).toEqual([done, { kind: 'deadline', message: 'history shard 1 did not answer in time' }]);
    expect(actor.canceled).toEqual([slow]);
  });

  test('what travels with an ask is there when the actor takes it', () => {
    const { router, actor } = bench();
    const context: AskContext = { deadlineMs: FAR_AWAY_MS, principal: { name: 'ada', authType: 'jwt' }, trace: '00-01-02-01' };
    router.askHistory(1, describeWorkflow, context, () => {});
    expect(actor.contexts).toEqual([context]);
  });

  test.each([Infinity, Number.NaN])('no ask is open for ever: a deadline of %d is refused before the actor hears of it', (deadlineMs) => {
    const { router, actor, ask } = bench();
    expect(() => ask(deadlineMs)).toThrow('an ask has a deadline');
    expect(actor.asked).toEqual([]);
    expect(router.history.openAsks).toBe(0);
  });

  test('what an actor refuses, and a number without actor, answers later, not inside ask', () => {
    const { clock, router, actor, answers, ask } = bench();
    actor.refuse = { kind: 'busy', message: 'full' };
    ask();
    router.askHistory(3, describeWorkflow, ownWork(FAR_AWAY_MS), (answer) => answers.push(answer));
    router.askCluster({ kind: 'syncCluster' }, ownWork(FAR_AWAY_MS), (answer) => answers.push(answer));
    expect(answers).toEqual([]);
    clock.advance(0);
    expect(answers).toEqual([
      { kind: 'busy', message: 'full' },
      { kind: 'notHere', message: 'history shard 3 is not here', hint: '', epoch: 0 },
      { kind: 'notHere', message: 'the cluster actor is not here', hint: '', epoch: 0 },
    ]);
  });

  test('ten thousand asks without a reply are answered some hundred per turn of the event loop, each once, with the first answer', () => {
    const { clock, router, answers, ask } = bench();
    const asked = Array.from({ length: 10_000 }, () => ask());
    const undecided = asked.slice(5_000);
    const sink = router.history.sink(1);
    sink.failAll(undecided, { kind: 'notHere', message: 'lost', hint: '', epoch: 0 });
    sink.abandon('abandoned');
    expect(answers.length).toBeLessThanOrEqual(512);
    const last = asked.at(-1) ?? 0;
    router.cancel(last);
    expect(sink.answer(asked[4_999] ?? 0, done), 'a reply that comes before').toBe(true);
    clock.advance(0);
    expect(router.history.openAsks).toBe(0);
    const kinds = Map.groupBy(answers, (answer) => (answer as { readonly kind: string }).kind);
    expect([...kinds].map(([kind, { length }]) => [kind, length])).toEqual([
      ['notHere', 4_999],
      ['done', 1],
      ['unavailable', 4_999],
    ]);
  });

  test('a caller that was first answered that nothing has happened gets no other answer, whatever the order', () => {
    const { clock, router, answers, ask } = bench();
    const asked = Array.from({ length: 4_000 }, () => ask());
    const sink = router.history.sink(1);
    // What waited in the mailbox, and then what waited for its state before that.
    sink.failAll([...asked.slice(2_000), ...asked.slice(0, 1_000)], { kind: 'notHere', message: 'lost', hint: '', epoch: 0 });
    sink.abandon('abandoned');
    clock.advance(0);
    const kinds = Map.groupBy(answers, (answer) => (answer as { readonly kind: string }).kind);
    expect(Object.fromEntries([...kinds].map(([kind, { length }]) => [kind, length]))).toEqual({ notHere: 3_000, unavailable: 1_000 });
  });

  test('abandoned asks fail, those of other actors do not, nor those that are asked meanwhile', () => {
    const { router, actor, answers, ask } = bench();
    router.history.attach(2, new Actor());
    const kept: unknown[] = [];
    router.askHistory(2, describeWorkflow, ownWork(FAR_AWAY_MS), (answer) => kept.push(answer));
    router.askHistory(1, describeWorkflow, ownWork(FAR_AWAY_MS), (answer) => {
      answers.push(answer);
      ask();
    });
    ask();
    router.history.sink(1).abandon('lost');
    expect(answers).toEqual([
      { kind: 'unavailable', message: 'lost' },
      { kind: 'unavailable', message: 'lost' },
    ]);
    expect(kept).toEqual([]);
    expect(actor.asked.map(({ request }) => request.kind)).toEqual(['describeWorkflow', 'resetStickyTaskQueue', 'resetStickyTaskQueue']);
    expect(router.history.openAsks).toBe(2);
  });

  test('a caller that throws harms neither the actor nor other callers', () => {
    const failures: unknown[] = [];
    const { router, answers, ask } = bench((error) => failures.push(error));
    const broken = router.askHistory(1, describeWorkflow, ownWork(FAR_AWAY_MS), () => {
      throw new Error('a bug of the edge');
    });
    const sound = ask();
    const sink = router.history.sink(1);
    sink.answer(broken, rejected);
    sink.answer(sound, done);
    expect(failures).toEqual([new Error('a bug of the edge')]);
    expect(answers).toEqual([done]);
  });

  test("a reply that does not belong to its request is the actor's bug, and no caller takes it for another", () => {
    const { router, answers } = bench();
    const askId = router.askHistory(1, describeWorkflow, ownWork(FAR_AWAY_MS), (answer) => answers.push(answer));
    router.history.sink(1).answer(askId, done);
    expect(answers).toEqual([{ kind: 'internal', message: 'history shard 1 answered describeWorkflow with done' }]);
  });

  test('one number has one actor', () => {
    const { router } = bench();
    expect(() => router.history.attach(1, new Actor())).toThrow('history shard 1 has one actor');
  });

  test('the reply follows from the kind of the request', () => {
    const start = (asker: Asker, request: StartWorkflow): number =>
      asker.askHistory(1, request, ownWork(FAR_AWAY_MS), (answer) =>
        expectTypeOf(answer).toEqualTypeOf<StartReply | Rejected | AskFailure>(),
      );
    const query = (asker: Asker, request: QueryWorkflow): number =>
      asker.askHistory(1, request, ownWork(FAR_AWAY_MS), (answer) =>
        expectTypeOf(answer).toEqualTypeOf<QueryReply | Rejected | AskFailure>(),
      );
    expectTypeOf(start).toBeFunction();
    expectTypeOf(query).toBeFunction();
  });

  test("nobody can ask an actor's own commands", () => {
    expectTypeOf<FireTimer>().not.toExtend<Parameters<Asker['askHistory']>[1]>();
    expectTypeOf<Tick>().not.toExtend<Parameters<Asker['askMatching']>[1]>();
  });
});
