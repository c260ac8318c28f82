import { expect, test } from 'vitest';
import { NOBODY, ownWork } from '../../../src/actors/asks/asks.ts';
import { CommandBudget } from '../../../src/actors/partition/command-budget.ts';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import { systemRandom } from '../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { jsonClaims, type LedgerCommand, ledgerCodec, ledgerMemory, ledgerScale, ledgerSwitchboard } from '../ledger.ts';
import { ledgerPrefetch } from '../ledger-prefetch.ts';
import { MemoryLog } from '../memory-log.ts';
import { turns } from '../../support/event-loop.ts';

const partition = { topic: 'test.ledger', partition: 0 };

/** The same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Of all seeds. */
const kinds = new Set<string>();
const seeds = Array.from({ length: 40 }, (_, seed) => seed + 1);

test.each(seeds)('whatever becomes of commands, each is answered, and nothing of it stays in the budget: seed %i', async (seed) => {
  const pick = numbers(seed);
  const budget = new CommandBudget(768 * 1024, 512 * 1024);
  const clock = new HandClock();
  const router = ledgerSwitchboard(clock);
  const log = new MemoryLog({ exclusive: pick(2) === 0 });
  const sink = router.sink(0);
  const warm = new Set<string>();
  const cold = new Map<string, () => void>();
  const prefetch = ledgerPrefetch({
    lacks: (command) => 'id' in command && command.id.startsWith('cold') && !warm.has(command.id),
    load: (key, _command, done) => void cold.set(key, done),
  });
  const loop = new PartitionLoop({
    partition,
    log,
    codec: ledgerCodec,
    claims: jsonClaims,
    owner: 'budget',
    create: () => {
      const memory = ledgerMemory(
        (askId, reply) => sink.answer(askId, reply),
        () => {},
      );
      return { ...memory, prefetch };
    },
    asks: sink,
    scale: ledgerScale,
    clock,
    random: systemRandom,
    logger: silentLogger,
    limits: { openRecordsMax: 3, turnCommandsMax: 4, mailboxCommandsMax: 20, recordBytesMax: 80_000 },
    budget,
  });
  router.attach(0, loop);
  loop.start();
  while (loop.status().state !== 'active') {
    clock.advance(100);
    await turns(1);
  }

  const asked: number[] = [];
  /** Not answered, and not given up. Who awaits the next entry may wait for ever. */
  const open = new Set<number>();
  let highest = 0;
  const ask = (command: LedgerCommand, deadlineMs: number): void => {
    const askId = router.ask(0, command, ownWork(deadlineMs), (answer) => {
      open.delete(askId);
      kinds.add(answer.kind);
    });
    if (command.kind !== 'await') open.add(askId);
    asked.push(askId);
  };
  const commands = (id: number): LedgerCommand[] => [
    { kind: 'add', id: `${id}`, size: pick(100_000) },
    { kind: 'add', id: `cold-${id % 7}`, size: pick(10_000) },
    { kind: 'read' },
    { kind: 'await' },
    { kind: 'throw' },
    { kind: 'unwritable' },
    { kind: 'refuse' },
  ];
  for (let step = 0; step < 400; step++) {
    switch (pick(14)) {
      case 0:
        log.held = true;
        break;
      case 1:
        log.letGo();
        break;
      case 2:
        log.refusing = pick(2) === 0 ? { denied: false } : undefined;
        break;
      case 3:
        log.unknown = pick(3) === 0;
        break;
      case 4: {
        const askId = asked[pick(asked.length)] ?? 0;
        router.cancel(askId);
        open.delete(askId);
        break;
      }
      case 5:
        clock.advance(pick(4) * 1_500);
        break;
      case 6:
        for (const [key, done] of cold) {
          cold.delete(key);
          warm.add(key);
          done();
        }
        break;
      case 7:
        warm.clear();
        break;
      case 8:
        await turns(pick(4));
        break;
      case 9:
        loop.submit(NOBODY, commands(step)[pick(7)] ?? { kind: 'read' });
        break;
      default:
        ask(commands(step)[pick(7)] ?? { kind: 'read' }, pick(3) === 0 ? clock.monoMs() + pick(5_000) : FAR_AWAY_MS);
    }
    highest = Math.max(highest, budget.bytes);
  }
  log.refusing = undefined;
  log.unknown = false;
  log.letGo();
  for (let round = 0; round < 200; round++) {
    for (const [key, done] of cold) {
      cold.delete(key);
      warm.add(key);
      done();
    }
    clock.advance(3_000);
    await turns(5);
  }
  expect(loop.status().state).toBe('active');
  expect([...open]).toEqual([]);
  expect(highest).toBeGreaterThan(0);
  expect(budget.bytes).toBe(0);
  for (const askId of asked) router.cancel(askId);
  await turns(5);
  await loop.drain();
  expect(budget.bytes).toBe(0);
  expect(router.openAsks).toBe(0);
  router.close();
});

test('those commands have met everything that can become of one', () => {
  expect([...kinds].sort()).toEqual(['added', 'busy', 'deadline', 'entries', 'internal', 'notHere', 'refused', 'tooLarge', 'unavailable']);
});
