import { describe, expect, test } from 'vitest';
import { clusterCodec } from '../../src/codec/cluster-codec.ts';
import { checkFirstStart, checkWholeJournals } from '../../src/start/whole-journals.ts';
import { readKnownCluster } from '../../src/start/known-cluster.ts';
import { claimsOf } from '../../src/start/server-contact.ts';
import { claimRecord } from '../../src/actors/ownership/effective.ts';
import { MemoryLog } from '../actors/memory-log.ts';
import type { LogRecord } from '../../src/ports/log.ts';

const claims = claimsOf({ instance: 'one', addresses: ['127.0.0.1:7233'] });
const claim = (epoch: number): LogRecord => claimRecord(claims, { ownerNonce: `nonce-${epoch}`, owner: 'host:7233 pid 1' }, epoch, 1);
const foreign: LogRecord = { ...claim(0), key: 'theirs', type: '', value: new Uint8Array([1, 2, 3]) };
const workflow = (epoch: number): LogRecord => ({ ...claim(epoch), key: 'default/order', sequence: 1, type: 'WorkflowExecutionStarted' });
const identity = { clusterId: 'id', clusterName: 'active', tokenKey: new Uint8Array(32), historyShards: 2 };
const initialized: LogRecord = {
  ...claim(1),
  ...clusterCodec.encode({ kind: 'clusterInitialized', timeMs: 1, ...identity }),
  epoch: 1,
  sequence: 1,
};

async function check(
  journals: Readonly<Record<'cluster/0' | 'history/0' | 'history/1', readonly LogRecord[]>>,
  trimmed?: string,
): Promise<void> {
  const log = new MemoryLog({ exclusive: false });
  for (const [name, records] of Object.entries(journals)) {
    log.partitions.set(
      `p.${name}`,
      records.map((record, offset) => ({ ...record, offset })),
    );
  }
  if (trimmed !== undefined) log.starts.set(trimmed, 1);
  const known = await readKnownCluster(log, 'p', claims);
  const partitions = [0, 1].map((partition) => ({ topic: 'p.history', partition }));
  await checkWholeJournals({ log, claims, known, partitions, clusterTopic: 'p.cluster' });
}

describe('journals before the first claim', () => {
  test('a journal that was trimmed behind a checkpoint is whole; beside no identity it shows that the cluster was lost', async () => {
    const served = { 'history/0': [claim(1), workflow(1)], 'history/1': [claim(1)] };
    await check({ 'cluster/0': [claim(1), initialized], ...served }, 'p.history/0');
    await expect(check({ 'cluster/0': [], ...served }, 'p.history/0')).rejects.toThrow(
      'p.history/0 starts at offset 1, as a journal that was trimmed behind a checkpoint does, but p.cluster knows of no cluster',
    );
  });

  test('the cluster journal is read from 0, or from where all that counts was written again, or not at all', async () => {
    const others = { 'history/0': [claim(1)], 'history/1': [claim(1)] };
    const whole = [
      initialized,
      claim(2),
      ...(
        [
          { kind: 'carryingBegun', timeMs: 1, cut: 1 },
          { kind: 'clusterCarried', timeMs: 1, identity, deadLetterQueues: [] },
          { kind: 'carryingFinished', timeMs: 1, cut: 1 },
        ] as const
      ).map((record, index) => ({ ...claim(2), ...clusterCodec.encode(record), sequence: index + 1 })),
    ];
    await check({ 'cluster/0': whole, ...others }, 'p.cluster/0');
    for (const part of [[claim(1), initialized], whole.slice(0, -1)]) {
      await expect(check({ 'cluster/0': part, ...others }, 'p.cluster/0')).rejects.toMatchObject({
        message: expect.stringContaining('nothing can be served without p.cluster/0'),
        cause: expect.objectContaining({ message: expect.stringContaining('the journal starts at 1, not at 0, and the records before') }),
      });
    }
  });

  test('the cluster journal is read again where its owner cuts it meanwhile', async () => {
    const log = new MemoryLog({ exclusive: false });
    log.recordsPerRead = 1;
    const records = [claim(1), initialized, claim(2), initialized].map((record, offset) => ({ ...record, offset }));
    const again = clusterCodec.encode({ kind: 'clusterCarried', timeMs: 1, identity, deadLetterQueues: [] });
    const begun = clusterCodec.encode({ kind: 'carryingBegun', timeMs: 1, cut: 2 });
    const finished = clusterCodec.encode({ kind: 'carryingFinished', timeMs: 1, cut: 2 });
    const behind = [begun, again, finished].map((encoded, index) => ({ ...claim(2), ...encoded, sequence: index + 1, offset: 3 + index }));
    log.partitions.set('p.cluster/0', [...records.slice(0, 3), ...behind]);
    const read = log.read.bind(log);
    let reads = 0;
    log.read = async (partition, offset) => {
      reads += 1;
      if (reads === 2) await log.truncate(partition, 2);
      return await read(partition, offset);
    };
    expect(await readKnownCluster(log, 'p', claims)).toMatchObject({ identity, owner: { ownerNonce: 'nonce-2' } });
  });

  test.each([
    ['nothing yet', { 'cluster/0': [], 'history/0': [], 'history/1': [] }],
    ['a first start that was killed between its claims', { 'cluster/0': [claim(1)], 'history/0': [claim(1)], 'history/1': [] }],
    ['strangers have written to a new topic', { 'cluster/0': [foreign], 'history/0': [foreign, claim(1)], 'history/1': [foreign] }],
    ['what an owner that was fenced wrote does not count', { 'cluster/0': [], 'history/0': [claim(2), workflow(1)], 'history/1': [] }],
    ['a cluster', { 'cluster/0': [claim(1), initialized], 'history/0': [claim(1), workflow(1)], 'history/1': [claim(1)] }],
  ])('fine: %s', async (_, journals) => {
    await check(journals);
  });

  test('a partition without even a claim beside an identity', async () => {
    const journals = { 'cluster/0': [claim(1), initialized], 'history/0': [claim(1)], 'history/1': [] };
    await expect(check(journals)).rejects.toThrow('p.history/1 is empty, though the cluster "active" has served from there');
  });

  test('records without an identity', async () => {
    const journals = { 'cluster/0': [claim(1)], 'history/0': [claim(1), workflow(1)], 'history/1': [claim(1)] };
    await expect(check(journals)).rejects.toThrow(
      'p.history/0 holds records (WorkflowExecutionStarted at offset 1), but p.cluster knows of no cluster',
    );
  });
});

test('the last claim that counts says who owns, and where to ask', async () => {
  const log = new MemoryLog({ exclusive: false });
  log.partitions.set(
    'p.cluster/0',
    [claim(1), claim(3), claim(2)].map((record, offset) => ({ ...record, offset })),
  );
  expect((await readKnownCluster(log, 'p', claims)).owner).toEqual({
    ownerNonce: 'nonce-3',
    owner: 'host:7233 pid 1',
    instance: 'one',
    addresses: ['127.0.0.1:7233'],
  });
});

test('a first start without all its partitions gives the cluster no identity', () => {
  const failed = { partition: 'p.history/3', state: 'failed', reason: 'not authorized' } as const;
  expect(() => checkFirstStart({ neverActive: () => [failed] })).toThrow(
    'a first start needs every partition, but p.history/3 cannot be served',
  );
  checkFirstStart({ neverActive: () => [] });
});
