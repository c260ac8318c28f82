import { describe, expect, expectTypeOf, test } from 'vitest';
import { Router } from '../../src/actors/router.ts';
import { FAR_AWAY_MS } from './far-away.ts';
import { HandClock } from '../support/hand-clock.ts';
import type { AskFailure } from '../../src/actors/asks.ts';
import type { Address, Asker, Endpoint } from '../../src/actors/router.ts';
import type { Rejected, StartReply } from '../../src/history/replies.ts';
import type { StartWorkflow } from '../../src/history/commands.ts';

const address: Address = { kind: 'cluster' };

class Actor implements Endpoint<string> {
  readonly asked: { readonly askId: number; readonly command: string }[] = [];
  readonly canceled: number[] = [];
  refuse: AskFailure | undefined;

  submit(askId: number, command: string): AskFailure | undefined {
    if (this.refuse === undefined) this.asked.push({ askId, command });
    return this.refuse;
  }

  cancel(askId: number): void {
    this.canceled.push(askId);
  }
}

function bench(): {
  clock: HandClock;
  router: Router;
  actor: Actor;
  answers: unknown[];
  ask: (command: string, deadlineMs?: number) => number;
} {
  const clock = new HandClock('when moved');
  const router = new Router(clock);
  const actor = new Actor();
  router.attach(address, actor);
  const answers: unknown[] = [];
  const ask = (command: string, deadlineMs = FAR_AWAY_MS): number =>
    router.ask<string, string>(address, command, deadlineMs, (answer) => answers.push(answer));
  return { clock, router, actor, answers, ask };
}

describe('router', () => {
  test('passes the command by reference and the answer back, once', () => {
    const { router, actor, answers, ask } = bench();
    const askId = ask('x');
    expect(actor.asked).toEqual([{ askId, command: 'x' }]);
    const sink = router.sink<string>(address);
    sink.answer(askId, 'first');
    sink.answer(askId, 'second');
    expect(answers).toEqual(['first']);
    expect(router.openAsks).toBe(0);
  });

  test('a cancel reaches the actor; neither an answer nor the deadline reaches the caller any more', () => {
    const { clock, router, actor, answers, ask } = bench();
    const askId = ask('x', 50);
    router.cancel(askId);
    router.cancel(askId);
    router.sink<string>(address).answer(askId, 'late');
    clock.advance(1_000);
    expect(actor.canceled).toEqual([askId]);
    expect(answers).toEqual([]);
  });

  test('at the deadline the caller is answered and the actor told; an answer before it stands', () => {
    const { clock, router, actor, answers, ask } = bench();
    const slow = ask('slow', 50);
    const quick = ask('quick', 50);
    router.sink<string>(address).answer(quick, 'done');
    clock.advance(49);
    expect(answers).toEqual(['done']);
    clock.advance(60);
    expect(answers).toEqual(['done', { kind: 'deadline', message: expect.any(String) }]);
    expect(actor.canceled).toEqual([slow]);
  });

  test.each([Infinity, Number.NaN])('no ask is open for ever: a deadline of %d is refused before the actor hears of it', (deadlineMs) => {
    const { router, actor, ask } = bench();
    expect(() => ask('x', deadlineMs)).toThrow('an ask has a deadline');
    expect(actor.asked).toEqual([]);
    expect(router.openAsks).toBe(0);
  });

  test('what an actor refuses, and an address without actor, answers later, not inside ask', () => {
    const { clock, router, actor, answers, ask } = bench();
    actor.refuse = { kind: 'busy', message: 'full' };
    ask('x');
    router.ask<string, string>({ kind: 'history', shard: 3 }, 'x', FAR_AWAY_MS, (answer) => answers.push(answer));
    expect(answers).toEqual([]);
    clock.advance(0);
    expect(answers).toEqual([
      { kind: 'busy', message: 'full' },
      { kind: 'unavailable', message: 'history shard 3 is not here', refused: true },
    ]);
  });

  test('abandoned asks fail, those of other actors do not, nor those that are asked meanwhile', () => {
    const { router, actor, answers, ask } = bench();
    const other = new Actor();
    router.attach({ kind: 'matching', partition: 0 }, other);
    const kept: unknown[] = [];
    router.ask<string, string>({ kind: 'matching', partition: 0 }, 'keep', FAR_AWAY_MS, (answer) => kept.push(answer));
    router.ask<string, string>(address, 'a', FAR_AWAY_MS, (answer) => {
      answers.push(answer);
      ask('again');
    });
    ask('b');
    router.sink<string>(address).abandon('lost');
    expect(answers).toEqual([
      { kind: 'unavailable', message: 'lost' },
      { kind: 'unavailable', message: 'lost' },
    ]);
    expect(kept).toEqual([]);
    expect(actor.asked.map(({ command }) => command)).toEqual(['a', 'b', 'again']);
    expect(router.openAsks).toBe(2);
  });

  test('a caller that throws harms neither the actor nor other callers', () => {
    const failures: unknown[] = [];
    const router = new Router(new HandClock('when moved'), (error) => failures.push(error));
    router.attach(address, new Actor());
    const answers: unknown[] = [];
    const broken = router.ask<string, string>(address, 'a', FAR_AWAY_MS, () => {
      throw new Error('a bug of the edge');
    });
    const sound = router.ask<string, string>(address, 'b', FAR_AWAY_MS, (answer) => answers.push(answer));
    const sink = router.sink<string>(address);
    sink.answer(broken, 'x');
    sink.answer(sound, 'y');
    expect(failures).toEqual([new Error('a bug of the edge')]);
    expect(answers).toEqual(['y']);
  });

  test('one address has one actor', () => {
    const { router } = bench();
    expect(() => router.attach(address, new Actor())).toThrow('the cluster actor has one actor');
  });

  test('the reply follows from the kind of the command', () => {
    const start = (asker: Asker, command: StartWorkflow): number =>
      asker.askHistory(1, command, FAR_AWAY_MS, (answer) => expectTypeOf(answer).toEqualTypeOf<StartReply | Rejected | AskFailure>());
    expectTypeOf(start).toBeFunction();
  });
});
