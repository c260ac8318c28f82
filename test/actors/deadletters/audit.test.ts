/** The audit beside a queue in its real loop: whoever dies when, each act is reported once, and nothing is cut that was not reported. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/deadletters/audit/audit-entry.ts';
import type { LetterStatus } from '../../../src/deadletters/letter-ids.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

async function auditedQueue(): Promise<CheckpointedQueue> {
  const queue = new CheckpointedQueue();
  queue.isAudited = true;
  await queue.start();
  return queue;
}

/** What a reader of the audit alone knows of each letter. */
function rebuilt(entries: readonly AuditEntry[]): ReadonlyMap<number, LetterStatus> {
  const statuses = new Map<number, LetterStatus>();
  for (const { action, messageIds, outcome } of entries) {
    for (const id of messageIds) {
      if (action === 'dead-letter') expect(statuses.has(id), `message ${id} is told of once`).toBe(false);
      if (action === 'dead-letter' || action === 'restore') statuses.set(id, 'open');
      else if (action === 'quarantine') statuses.set(id, 'quarantined');
      else if (action === 'purge') {
        expect(statuses.get(id), `message ${id} is purged once`).toBe('open');
        statuses.set(id, 'purged');
      } else if (action === 'merge-outcome' && outcome !== 'failed') statuses.set(id, 'merged');
    }
  }
  return statuses;
}

function checkStory(queue: CheckpointedQueue): void {
  const entries = queue.audited();
  const ids = queue.host.actor.memory?.core.state.ids;
  const real = new Map(Array.from({ length: ids?.nextId ?? 0 }, (_, id) => [id, ids?.statusOf(id)] as const));
  expect(new Map([...rebuilt(entries)].toSorted(([one], [other]) => one - other))).toEqual(real);
  const places = entries.map(({ source, offset }) => `${source} ${offset}`);
  expect(new Set(places).size).toBe(places.length);
}

test('dead letters that come and go are reported, also when they are written again for a cut', async () => {
  const queue = await auditedQueue();
  await queue.handOver(1, 5);
  await queue.purge([1, 3]);
  await queue.pass(5_000);
  expect(queue.journalStart).toBeGreaterThan(0);
  await queue.handOver(1, 2);
  await queue.pass(1_000);
  checkStory(queue);
  expect(queue.audited().filter(({ action }) => action === 'purge')).toMatchObject([{ messageIds: [1, 3], subject: 'anna', jobId: 'job' }]);
});

test('while no audit is there dead letters come and go, nothing is cut, and all of it is reported once it is', async () => {
  const queue = await auditedQueue();
  queue.isAuditAway = true;
  await queue.takeOver();
  await queue.handOver(1, 5);
  await queue.purge([0]);
  await queue.pass(20_000);
  expect(queue.journalStart).toBe(0);
  expect(queue.lines.join()).toMatch(/audit of dead letters cannot be written/);
  queue.startAudit(queue.router);
  await queue.pass(120_000, 1_000);
  checkStory(queue);
  expect(queue.journalStart).toBeGreaterThan(0);
});

test('a topic that was deleted and created again is reported from its first record, also where it has grown beyond the one before by then', async () => {
  const queue = await auditedQueue();
  await queue.handOver(1, 3);
  await queue.pass(1_000);
  queue.isAuditAway = true;
  await queue.beginAnew();
  await queue.handOver(1, 40);
  await queue.purge([2, 5]);
  queue.isAuditAway = false;
  await queue.takeOver();
  await queue.pass(5_000);
  const entries = queue.audited();
  const told = entries.filter(({ action }) => action === 'dead-letter').map(({ letters }) => letters);
  expect(told.reduce((sum, letters) => sum + letters, 0)).toBe(43);
  expect(entries.filter(({ action }) => action === 'purge')).toMatchObject([{ messageIds: [2, 5] }]);
  await queue.handOver(1, 1);
  await queue.takeOver();
  await queue.pass(5_000);
  expect(queue.audited().slice(entries.length), 'and once').toMatchObject([{ action: 'dead-letter', messageIds: [40] }]);
});

test('whoever dies when, the audit tells what the queue holds', { timeout: 60_000 }, async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('handOver' as const), count: fc.integer({ min: 1, max: 5 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('purge' as const), id: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(10, 50, 3_000) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'loseDatabase' as const, 'auditAway' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const queue = await auditedQueue();
      for (const given of steps) {
        if (given.kind === 'handOver') await queue.handOver(1, given.count);
        else if (given.kind === 'purge') await queue.purge([given.id]);
        else if (given.kind === 'pass') await queue.pass(given.ms, 10);
        else {
          if (given.kind === 'loseDatabase') {
            queue.anotherProcess();
            queue.loseDatabase();
          }
          queue.isAuditAway = given.kind === 'auditAway';
          await queue.takeOver();
        }
      }
      queue.isAuditAway = false;
      await queue.takeOver();
      await queue.pass(3_000, 10);
      checkStory(queue);
      queue.checkMemory();
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['the audit', 'test.audit'],
  ['the queue', 'dlq.test.transfer.active'],
])('where somebody cuts the journal of %s, what happens from then on is told all the same', async (_, topic) => {
  const queue = await auditedQueue();
  const told = (action: string) =>
    queue
      .audited()
      .filter((entry) => entry.action === action)
      .flatMap(({ messageIds }) => messageIds);
  await queue.handOver(1, 5);
  await queue.purge([1]);
  await queue.pass(1_000);
  queue.isAuditAway = true;
  await queue.takeOver();
  await queue.handOver(1, 2);
  await queue.log.truncate({ topic, partition: 0 }, (await queue.log.bounds({ topic, partition: 0 })).end - 1);
  queue.isAuditAway = false;
  await queue.takeOver();
  await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
  const [id = -1] = await queue.handOver(2, 1);
  await queue.purge([id]);
  await queue.pass(1_000);
  expect(told('purge').at(-1)).toBe(id);
  expect(queue.lines.join()).toMatch(
    topic === 'test.audit' ? /ERROR entries of the audit .* are gone/ : /ERROR records of a dead letter queue/,
  );
  const before = await queue.log.bounds({ topic: 'test.audit', partition: 0 });
  await queue.takeOver();
  await queue.pass(1_000);
  expect((await queue.log.bounds({ topic: 'test.audit', partition: 0 })).end - before.end, 'but for the claim nothing is told twice').toBe(
    1,
  );
});
