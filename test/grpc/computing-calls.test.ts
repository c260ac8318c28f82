import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import { ComputingCalls, computingCallsMax, waitingCallsMax } from '../../src/grpc/computing-calls.ts';
import { StatusError } from '../../src/grpc/errors/status-error.ts';
import type { Call } from '../../src/grpc/transport/call.ts';
import { turns, until } from '../support/event-loop.ts';
import { WorkingClock } from '../support/working-clock.ts';

/** Whose client can go away. */
class OpenCall {
  cancelled = false;
  #onCancel: () => void = () => {};
  readonly call = this as unknown as Call;

  onCancel(listener: () => void): void {
    this.#onCancel = listener;
  }

  cancel(): void {
    this.cancelled = true;
    this.#onCancel();
  }
}

/** Each step takes a millisecond. */
class Bench {
  readonly computing = new ComputingCalls(new LoopTurns(new WorkingClock()));
  readonly steps = new Map<string, number>();
  readonly outcomes: string[] = [];
  /** That are worked on, and the most of each namespace there were. */
  readonly #underWay = new Map<string, number>();
  underWayMax = 0;

  begin(namespaceId: string, stepsOfCall: number, open = new OpenCall()): OpenCall {
    void this.computing
      .run(open.call, namespaceId, async (own) => {
        const underWay = (this.#underWay.get(namespaceId) ?? 0) + 1;
        this.#underWay.set(namespaceId, underWay);
        this.underWayMax = Math.max(this.underWayMax, underWay);
        try {
          for (let step = 0; step < stepsOfCall; step++) {
            await own.next();
            this.steps.set(namespaceId, this.stepsOf(namespaceId) + 1);
          }
        } finally {
          this.#underWay.set(namespaceId, (this.#underWay.get(namespaceId) ?? 1) - 1);
        }
      })
      .then(
        () => this.outcomes.push(`${namespaceId} done`),
        (error: unknown) => this.outcomes.push(`${namespaceId} ${error instanceof StatusError ? error.code : String(error)}`),
      );
    return open;
  }

  stepsOf(namespaceId: string): number {
    return this.steps.get(namespaceId) ?? 0;
  }
}

test('however many calls compute, a turn of the event loop has one slice for all of them', async () => {
  const bench = new Bench();
  for (let nth = 0; nth < 300; nth++) bench.begin(`namespace ${nth % 30}`, 10);
  let stepsMax = 0;
  for (let before = 0; bench.outcomes.length < 300;) {
    await turns();
    const all = [...bench.steps.values()].reduce((sum, each) => sum + each, 0);
    stepsMax = Math.max(stepsMax, all - before);
    before = all;
  }
  expect(stepsMax).toBeLessThanOrEqual(5);
  expect(new Set(bench.outcomes.map((outcome) => outcome.split(' ').at(-1)))).toEqual(new Set(['done']));
});

test('namespaces take turns: one with many calls leaves half of the time to one that has a single call', async () => {
  const bench = new Bench();
  for (let nth = 0; nth < 100; nth++) bench.begin('many', 1_000);
  await turns(5);
  const before = bench.stepsOf('many');
  bench.begin('one', 200);
  await until(() => bench.outcomes.includes('one done'));
  expect(bench.stepsOf('many') - before).toBeLessThanOrEqual(220);
  expect(bench.underWayMax).toBe(computingCallsMax);
});

test('calls beyond those that may wait are refused, and those of other namespaces are not', async () => {
  const bench = new Bench();
  for (let nth = 0; nth < computingCallsMax + waitingCallsMax + 3; nth++) bench.begin('many', 1);
  bench.begin('one', 1);
  await until(() => bench.outcomes.length === computingCallsMax + waitingCallsMax + 4);
  expect(bench.outcomes.filter((outcome) => outcome === 'many 8')).toHaveLength(3);
  expect(bench.outcomes.filter((outcome) => outcome.endsWith('done'))).toHaveLength(computingCallsMax + waitingCallsMax + 1);
});

test('whoever goes away gives up his place, or his wait for it', async () => {
  const bench = new Bench();
  const working = Array.from({ length: computingCallsMax }, () => bench.begin('many', Infinity));
  const waiting = Array.from({ length: waitingCallsMax }, () => bench.begin('many', 1));
  await turns(3);
  for (const open of waiting) open.cancel();
  await turns(3);
  expect(bench.outcomes.filter((outcome) => outcome === 'many 1')).toHaveLength(waitingCallsMax);
  bench.begin('many', 1);
  for (const open of working) open.cancel();
  await until(() => bench.outcomes.length === computingCallsMax + waitingCallsMax + 1);
  expect(bench.outcomes.filter((outcome) => outcome === 'many done')).toHaveLength(1);
});

test('of those who went away nothing is kept while others are worked on', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const computing = new ComputingCalls(new LoopTurns(new WorkingClock()));
  const held = await Promise.all(Array.from({ length: computingCallsMax }, () => computing.enter(new OpenCall().call, 'many')));
  const gone: WeakRef<OpenCall>[] = [];
  for (let nth = 0; nth < 100; nth++) {
    const open = new OpenCall();
    gone.push(new WeakRef(open));
    const entered = computing.enter(open.call, 'many').catch(() => {});
    open.cancel();
    await entered;
  }
  await turns(3);
  collect();
  // The engine may keep the last of them for a moment.
  expect(gone.filter((open) => open.deref() !== undefined).length).toBeLessThan(10);
  for (const leave of held) leave();
});
