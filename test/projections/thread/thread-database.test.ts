import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { pack } from '../../../src/projections/thread/pack.ts';
import { threadDatabase } from '../../../src/projections/thread/thread-database.ts';
import { emptyDelta, positionAt, taskRow } from '../../contract/database/samples.ts';
import type { Checkpoint, Database } from '../../../src/projections/database-port.ts';

const journal = { kind: 'history', partition: 0 } as const;
const checkpoint = (offset: number): Checkpoint => ({
  kind: 'history',
  position: positionAt(offset),
  delta: { ...emptyDelta, transferTasks: [taskRow(offset)] },
});

const runA = '11111111-0000-4000-8000-000000000000';

/** Far more than is copied at a stretch. */
function largeCheckpoint() {
  const transferTasks = Array.from({ length: 10_000 }, (_, index) => taskRow(index));
  const history = [1, 2, 3].map((id) => ({
    ...{ runId: runA, branch: 0, firstEventId: id, lastEventId: id },
    events: new Uint8Array(1024 * 1024).fill(id),
  }));
  return { kind: 'history', position: positionAt(7), delta: { ...emptyDelta, transferTasks, history } } as const;
}

let database: Database | undefined;
afterEach(() => database?.close());

function served(startFails?: string, restartPauseMs = 0): Database {
  const worker = new URL('./served-database.ts', import.meta.url);
  database = threadDatabase({ name: 'a database', worker, workerData: { startFails }, restartPauseMs });
  return database;
}

describe('a database in a thread', () => {
  test('what it refuses comes back with its code and words; a bug there is no outage', async () => {
    const under = served();
    await expect(under.bind('refuse')).rejects.toMatchObject({
      name: 'DatabaseError',
      code: 'misconfigured',
      message: 'this is another one',
    });
    await expect(under.bind('a bug')).rejects.toMatchObject({ name: 'DatabaseError', code: 'data', message: 'RangeError: out of bounds' });
    expect(await under.bind('c')).toBe('c');
  });

  test.each([
    ['die', 'out of memory, say'],
    ['exit', 'without an error'],
  ])('its thread ends (%s): open calls end, a write unknown; the next call finds a new one', async (how, reason) => {
    const under = served();
    const { fence } = await under.restore(journal);
    const death = under.bind(how);
    const window = under.transferTasks(journal, 0, 10);
    // It may have been answered before the thread ended.
    const ended = window.then(
      () => 'answered',
      ({ code }) => code,
    );
    const late = how === 'exit' ? under.write(journal, fence, checkpoint(1)) : undefined;
    await expect(death).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(reason) });
    if (late !== undefined) expect(await late).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('a database') });
    expect(['answered', 'unavailable']).toContain(await ended);
    // It was in memory: the new thread knows nothing of the old one.
    expect(await under.position(journal)).toEqual({ fence: 0, position: undefined });
  });

  test('a thread that cannot start: unavailable with the reason, until it can', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-thread-'));
    const startFails = join(folder, 'fails');
    writeFileSync(startFails, '');
    const under = served(startFails, 1);
    for (let round = 0; round < 3; round++) {
      await expect(under.bind('c')).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('no thread today') });
    }
    rmSync(folder, { recursive: true });
    let answer: string | undefined;
    while (answer === undefined) answer = await under.bind('c').catch(() => undefined);
    expect(answer).toBe('c');
  });

  test('between a death and the next start calls are refused with the reason, without a thread', async () => {
    const under = served(undefined, 3_600_000);
    await expect(under.bind('die')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(under.bind('c')).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('out of memory, say') });
  });

  test('close: what is under way ends, what comes later is refused', async () => {
    const under = served();
    const { fence } = await under.restore(journal);
    const write = under.write(journal, fence, checkpoint(1));
    const closing = under.close();
    await expect(under.position(journal)).rejects.toMatchObject({ code: 'closed' });
    expect(await write).toEqual({ kind: 'written' });
    await closing;
    await under.close();
    await expect(under.bind('c')).rejects.toMatchObject({ code: 'closed', message: 'a database is closed' });
  });

  test('a large checkpoint goes in parts: others are answered before the last of it is sent, and all of it is written', async () => {
    const under = served();
    const { fence } = await under.restore(journal);
    const large = largeCheckpoint();
    const write = under.write(journal, fence, large);
    expect((await under.position(journal)).position, 'nothing is written yet').toBeUndefined();
    expect(await write).toEqual({ kind: 'written' });
    const { rows } = await under.transferTasks(journal, -1, 1_000_000);
    expect(rows).toEqual(large.delta.transferTasks);
    const events = { runId: runA, branch: 0, firstEventId: 1, lastEventId: 3, bytesMax: 1e9 };
    expect(await under.history(journal, events)).toEqual(large.delta.history);
    expect(await under.position(journal)).toEqual({ fence, position: large.position });
  });

  test('its thread ends while a large checkpoint is sent: nothing of it was written, and it is written by the next thread', async () => {
    const under = served();
    const { fence } = await under.restore(journal);
    const [write] = await Promise.allSettled([under.write(journal, fence, largeCheckpoint()), under.bind('die')]);
    // A thread that takes its time to die may have had all of it sent: then nobody knows.
    if (write.status === 'fulfilled')
      expect(write.value).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('out of memory, say') });
    else expect(write.reason).toMatchObject({ code: 'unavailable', message: expect.stringContaining('out of memory, say') });
    const again = await under.restore(journal);
    expect(await under.write(journal, again.fence, largeCheckpoint())).toEqual({ kind: 'written' });
  });

  test('close while a large checkpoint is sent: it is written first', async () => {
    const under = served();
    const { fence } = await under.restore(journal);
    const write = under.write(journal, fence, largeCheckpoint());
    const closing = under.close();
    expect(await write).toEqual({ kind: 'written' });
    await closing;
  });

  test('close before any call starts no thread, and after a death waits for none', async () => {
    await served().close();
    const under = served();
    await expect(under.bind('die')).rejects.toMatchObject({ code: 'unavailable' });
    await under.close();
    await expect(under.bind('c')).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('packing', () => {
  test('all bytes go into one buffer of just their size, and the giver keeps its own', () => {
    const pool = new Uint8Array(64 * 1024).fill(7);
    const value = {
      rows: [
        { id: 'a', state: pool.subarray(10, 13), none: undefined },
        { id: 'b', state: pool.subarray(100, 100), slots: new Map([['Keyword01', ['x']]]) },
      ],
      ids: [1, 2, 3],
      counters: Buffer.from('abc'),
      big: 2n ** 63n,
    };
    const { value: packed, transfer } = pack(value);
    expect(transfer.map(({ byteLength }) => byteLength)).toEqual([6]);
    const arrived = structuredClone(packed, { transfer: [...transfer] });
    expect(arrived).toEqual({ ...value, counters: Uint8Array.from(Buffer.from('abc')) });
    expect(arrived.rows[1]?.state.buffer.byteLength).toBe(6);
    expect(pool.length).toBe(64 * 1024);
    expect(value.counters.toString()).toBe('abc');
  });

  test('without bytes nothing is copied, and nothing transferred', () => {
    const value = [{ ids: [1, 2], name: 'x', none: null }];
    expect(pack(value)).toEqual({ value, transfer: [] });
    expect(pack(value).value).toBe(value);
  });
});
