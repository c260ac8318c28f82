/**
 * `node test/actors/partition/loop-cost.ts`: what the partition loop and the router cost per command, CPU microseconds, on a log and a core that
 * cost next to nothing. Not a test: a figure to look at.
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { LoopTurns } from '../../../src/ports/loop-turns.ts';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import { Switchboard } from '../../../src/actors/asks/switchboard.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { jsonClaims } from '../ledger.ts';
import type { BatchSource, Log } from '../../../src/ports/log.ts';
import { until } from '../../support/event-loop.ts';

const value = new Uint8Array(300);
let end = 0;

const log: Log = {
  exclusive: process.argv[2] !== 'shared',
  attach(_partition, source: BatchSource) {
    let ready = false;
    const flush = (): void => {
      ready = false;
      const batch = source.seal();
      if (batch === undefined) return;
      const baseOffset = end;
      end += batch.records.length;
      setImmediate(() => source.settle({ kind: 'appended', generation: batch.generation, baseOffset }));
    };
    return {
      ready: () => {
        if (!ready) setImmediate(flush);
        ready = true;
      },
      detach: () => {},
    };
  },
  read: (_partition, fromOffset) =>
    Promise.resolve(
      Array.from({ length: end - fromOffset }, (_, index) => ({
        key: '@claim',
        schema: 1,
        epoch: 1,
        sequence: 0,
        type: 'Claim',
        namespace: '',
        workflowId: '',
        runId: '',
        timeMs: 0,
        value: claim,
        offset: fromOffset + index,
      })),
    ),
  bounds: () => Promise.resolve({ start: 0, end }),
  end: () => Promise.resolve(end),
  truncate: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

let claim = new Uint8Array();
const claims = {
  ...jsonClaims,
  encode: (each: { ownerNonce: string; owner: string }) => (claim = new Uint8Array(jsonClaims.encode(each))),
};

type Command = { readonly kind: 'write' | 'read'; readonly id: number };
type Reply = { readonly kind: 'done' };
const done: Reply = { kind: 'done' };
let lastAskId = 0;
const turns = new LoopTurns(systemClock);
const router = new Switchboard<{ readonly write: Reply; readonly read: Reply }, Command, never>(
  { clock: systemClock, turns, newAskId: () => ++lastAskId, callbackFailed: console.error },
  { write: { replies: ['done'] }, read: { replies: ['done'] } },
  () => 'the actor',
);
const sink = router.sink(1);
const loop = new PartitionLoop<Command, Reply, number, never>({
  partition: { topic: 'cost', partition: 0 },
  log,
  codec: {
    encode: (record) => ({ key: 'ns/wf', schema: 1, type: 'T', namespace: 'ns', workflowId: 'wf', runId: 'r', timeMs: record, value }),
    decode: () => 0,
  },
  claims,
  owner: 'cost',
  create: () => ({
    core: {
      handle: (command, nowMs) =>
        command.kind === 'write'
          ? { kind: 'commit', record: nowMs, reply: done, effects: [] }
          : { kind: 'answer', reply: done, effects: [] },
      accept: () => {},
      tooLarge: () => undefined,
      idsOf: (command) => ({ command: command.kind }),
      evolve: () => {},
      cancel: () => ({ kind: 'wait', barrier: false, effects: [] }),
    },
    shell: {
      answer: (askId, reply) => sink.answer(askId, reply),
      act: () => {},
      activated: () => {},
      deactivated: () => {},
      accepted: () => {},
      undecided: () => {},
    },
    subscribers: [{ committed: () => {} }],
  }),
  asks: sink,
  scale: { bytesOf: () => 1024, namespaceOf: () => 'ns', finishesWork: () => false },
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
});
router.attach(1, loop);
loop.start();
await until(() => loop.status().state === 'active');

/** `users` callers, each with one ask under way. */
function measure(kind: Command['kind'], users: number, total: number): Promise<string> {
  return new Promise((resolve) => {
    let sent = 0;
    let answered = 0;
    const before = process.cpuUsage();
    const next = (): void => {
      sent += 1;
      router.ask(1, { kind, id: sent }, ownWork(systemClock.monoMs() + 10_000), () => {
        answered += 1;
        if (sent < total) next();
        else if (answered === total) {
          const { user, system } = process.cpuUsage(before);
          resolve(`${kind}, ${users} at a time: ${((user + system) / total).toFixed(2)} µs a command`);
        }
      });
    };
    for (let user = 0; user < users; user++) next();
  });
}

await measure('write', 16, 200_000);
for (const [kind, users] of [
  ['write', 1],
  ['write', 16],
  ['write', 256],
  ['read', 16],
  ['read', 256],
] as const) {
  console.log(await measure(kind, users, 300_000));
}
loop.close();
router.close();
