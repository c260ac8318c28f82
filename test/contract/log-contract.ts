/** What every log promises its actors (src/ports/log.ts); run against the embedded log, in memory and on disk, and against Kafka. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { baseOf, LogWriter, readAll, record } from './log-writer.ts';
import { RECORD_BYTES_MAX } from '../../src/actors/partition/commit-window.ts';
import type { WriterEvent } from './log-writer.ts';
import type { GrowingLog, LogRecord, PartitionId, StoredRecord } from '../../src/ports/log.ts';

export type LogFixture = {
  /** `topic` has `partitionsMin` partitions or more; the suite takes a fresh one for each test. */
  readonly topic: string;
  readonly open: () => Promise<GrowingLog>;
  readonly stop: () => Promise<void>;
};

/** `in memory`: what was appended goes with the log, so nothing is asked about opening it again. */
export function logContract(name: string, kept: 'durable' | 'in memory', start: () => Promise<LogFixture>): void {
  describe(`log contract: ${name}`, () => {
    let fixture: LogFixture;
    let log: GrowingLog;
    let next = 0;
    const fresh = (): PartitionId => ({ topic: fixture.topic, partition: next++ });

    beforeAll(async () => {
      fixture = await start();
      log = await fixture.open();
    });
    afterAll(async () => {
      await log?.close();
      await fixture?.stop();
    });

    test('base offsets are dense and every field comes back', async () => {
      const at = fresh();
      const writer = new LogWriter(log, at);
      const records = [
        record(1),
        record(2, { key: 'größe/注文 🛒', namespace: 'größe', workflowId: '注文 🛒', type: 'Ünicode' }),
        record(3, { key: '@claim', type: 'Claim', namespace: '', workflowId: '', runId: '', value: new Uint8Array() }),
        record(4, { epoch: 2 ** 52, sequence: 2 ** 53 - 1, schema: 7 }),
        record(5, { value: Uint8Array.from({ length: 100_000 }, (_, i) => i % 251), timeMs: 1_600_000_000_000 }),
        record(6),
        record(7, {
          headers: [
            ['perdure.cause', 'größe'],
            ['perdure.error-stack', 'x'.repeat(8_192)],
            ['x-original-topic', ''],
          ],
        }),
        record(8, { type: '', value: new Uint8Array(), isTombstone: true, headers: [['perdure.how', 'purged']] }),
      ] as const;
      expect(baseOf(await writer.append(records[0]))).toBe(0);
      expect(baseOf(await writer.append(records[1], records[2], records[3]))).toBe(1);
      expect(baseOf(await writer.append(records[4], records[5]))).toBe(4);
      expect(baseOf(await writer.append(records[6], records[7]))).toBe(6);
      expect(await log.bounds(at)).toEqual({ start: 0, end: 8 });
      expect((await readAll(log, at)).map(comparable)).toEqual(records.map((one, offset) => comparable({ ...one, offset })));
      expect(writer.broken).toEqual([]);
    });

    test('a value that was read is a buffer of its own', async () => {
      const at = fresh();
      await new LogWriter(log, at).append(record(1), record(2));
      for (const { value } of await log.read(at, 0, 1024)) expect(value.buffer.byteLength).toBe(value.byteLength);
    });

    test('seal comes after the turn of ready, once for many, and may find nothing', async () => {
      const events: WriterEvent[] = [];
      const at = fresh();
      const writer = new LogWriter(log, at, events);
      writer.ready();
      writer.ready();
      expect(events).toEqual([]);
      const outcome = await writer.append(record(1));
      expect(baseOf(outcome)).toBe(0);
      const sealed = events.length;
      writer.ready();
      await writer.append(record(2));
      expect(events.slice(sealed).filter(({ kind }) => kind === 'seal').length).toBeLessThanOrEqual(2);
      expect(writer.broken).toEqual([]);
      // The empty seal left no trace.
      expect(await log.end(at)).toBe(2);
    });

    test('one batch of a partition is under way; order is kept', async () => {
      const at = fresh();
      const events: WriterEvent[] = [];
      const writer = new LogWriter(log, at, events);
      const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => writer.append(record(2 * i), record(2 * i + 1))));
      expect(outcomes.map(baseOf)).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i));
      expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, i) => i));
      expect(writer.broken).toEqual([]);
    });

    test('partitions that are ready together are sealed together', async () => {
      const events: WriterEvent[] = [];
      const writers = Array.from({ length: 4 }, () => new LogWriter(log, fresh(), events));
      await Promise.all(writers.map((writer) => writer.append(record(1))));
      const round = events.length;
      await Promise.all(writers.map((writer) => writer.append(record(2))));
      const seals = events.slice(round).findIndex(({ kind }) => kind === 'settle');
      expect(seals).toBe(4);
    });

    test('a batch above 8 MiB is refused, for good, and harms nobody', async () => {
      const at = fresh();
      const neighbour = fresh();
      const writer = new LogWriter(log, at);
      const other = new LogWriter(log, neighbour);
      const big = record(1, { value: new Uint8Array(8 * 1024 * 1024) });
      const [refused, fine] = await Promise.all([writer.append(big), other.append(record(1))]);
      expect(refused.kind).toBe('refused');
      expect(baseOf(fine)).toBe(0);
      expect(baseOf(await writer.append(record(2)))).toBe(0);
      expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual([2]);
      expect(writer.broken).toEqual([]);
    });

    test('more than one request can carry, in records of the largest size: all of it arrives', async () => {
      const name = '注'.repeat(333);
      const longNames = { key: `${name}/${name}`, namespace: name, workflowId: name, runId: name };
      const places = Array.from({ length: 8 }, fresh);
      const large = (sequence: number): LogRecord =>
        record(sequence, { ...longNames, value: new Uint8Array(RECORD_BYTES_MAX).fill(sequence) });
      const outcomes = await Promise.all(places.map((at) => new LogWriter(log, at).append(large(3))));
      expect(outcomes.map(baseOf)).toEqual(places.map(() => 0));
      for (const at of places) expect((await log.read(at, 0, 1024))[0]?.value.every((byte) => byte === 3)).toBe(true);
    });

    test('reading: pages, the middle of a batch, the end, beyond it', async () => {
      const at = fresh();
      const writer = new LogWriter(log, at);
      const value = new Uint8Array(1000);
      for (let batch = 0; batch < 20; batch++) {
        await writer.append(...Array.from({ length: 5 }, (_, i) => record(5 * batch + i, { value })));
      }
      const pages: number[] = [];
      for (let offset = 0; ;) {
        const page = await log.read(at, offset, 10_000);
        if (page.length === 0) break;
        expect(page.map((one) => one.offset)).toEqual(page.map((_, i) => offset + i));
        pages.push(page.length);
        offset += page.length;
      }
      expect(pages.reduce((sum, length) => sum + length, 0)).toBe(100);
      // About 10 kB a page: neither record by record nor all at once.
      expect(pages.length).toBeGreaterThan(4);
      expect(pages.length).toBeLessThan(25);
      expect((await log.read(at, 7, 1))[0]).toMatchObject({ offset: 7, sequence: 7 });
      expect((await log.read(at, 99, 1)).map(({ offset }) => offset)).toEqual([99]);
      expect(await log.read(at, 100, 1)).toEqual([]);
      await expect(log.read(at, 101, 1)).rejects.toMatchObject({ code: 'out-of-range' });
    });

    test('the end that is told was true after the question', async () => {
      const at = fresh();
      const writer = new LogWriter(log, at);
      expect(await log.end(at)).toBe(0);
      for (let i = 1; i <= 20; i++) {
        const early = log.end(at);
        baseOf(await writer.append(record(i)));
        const asked = await Promise.all(Array.from({ length: 10 }, () => log.end(at)));
        expect(asked).toEqual(Array.from({ length: 10 }, () => i));
        expect(await early).toBeGreaterThanOrEqual(i - 1);
      }
    });

    test('truncation moves the start and nothing else', async () => {
      const at = fresh();
      const writer = new LogWriter(log, at);
      for (let i = 0; i < 10; i++) await writer.append(record(3 * i), record(3 * i + 1), record(3 * i + 2));
      await log.truncate(at, 13);
      expect(await log.bounds(at)).toEqual({ start: 13, end: 30 });
      await expect(log.read(at, 12, 1024)).rejects.toMatchObject({ code: 'out-of-range' });
      expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 17 }, (_, i) => 13 + i));
      await log.truncate(at, 5);
      expect(await log.bounds(at)).toEqual({ start: 13, end: 30 });
      await expect(log.truncate(at, 31)).rejects.toMatchObject({ code: 'out-of-range' });
      await log.truncate(at, 30);
      expect(await log.bounds(at)).toEqual({ start: 30, end: 30 });
      expect(await log.read(at, 30, 1024)).toEqual([]);
      expect(baseOf(await writer.append(record(30)))).toBe(30);
    });

    test('a topic that is added while it serves is one like the others, and those go on', async () => {
      const before = fresh();
      const writer = new LogWriter(log, before);
      const topic = { name: `${fixture.topic}.added`, partitions: 2, purpose: 'what came later' };
      const [first] = await Promise.all([writer.append(record(1)), log.addTopic(topic), log.addTopic(topic)]);
      expect(baseOf(first)).toBe(0);
      const added = { topic: topic.name, partition: 1 };
      expect(await log.bounds(added)).toEqual({ start: 0, end: 0 });
      expect(baseOf(await new LogWriter(log, added).append(record(1), record(2)))).toBe(0);
      expect(baseOf(await writer.append(record(2)))).toBe(1);
      await log.addTopic(topic);
      await expect(log.addTopic({ ...topic, partitions: 3 })).rejects.toMatchObject({ code: 'misconfigured' });
      expect((await readAll(log, added)).map(({ sequence }) => sequence)).toEqual([1, 2]);
      expect((await readAll(log, before)).map(({ sequence }) => sequence)).toEqual([1, 2]);
    });

    test('after detach nobody is called, and the next owner can append', async () => {
      const at = fresh();
      const events: WriterEvent[] = [];
      const first = new LogWriter(log, at, events);
      void first.append(record(1));
      first.detach();
      const second = new LogWriter(log, at);
      baseOf(await second.append(record(2)));
      expect(events).toEqual([]);
      expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual([2]);
    });

    test('two attachments of one partition: every batch whole, at the offset that was returned', async () => {
      const at = fresh();
      const writers = [new LogWriter(log, at), new LogWriter(log, at)];
      const told = new Map<number, number>();
      await Promise.all(
        writers.map(async (writer, index) => {
          for (let i = 0; i < 20; i++) {
            const base = baseOf(await writer.append(record(i, { epoch: index }), record(i, { epoch: index })));
            told.set(base, index);
          }
        }),
      );
      const records = await readAll(log, at);
      expect(records.length).toBe(80);
      for (const [base, index] of told) expect(records.slice(base, base + 2).map(({ epoch }) => epoch)).toEqual([index, index]);
    });

    if (kept === 'in memory') return;

    test('what was appended is there after closing and opening', async () => {
      const at = fresh();
      const cut = fresh();
      const emptied = fresh();
      for (const place of [at, cut, emptied]) await new LogWriter(log, place).append(record(1), record(2), record(3));
      await log.truncate(cut, 1);
      await log.truncate(emptied, 3);
      await log.close();
      await expect(log.read(at, 0, 1024)).rejects.toMatchObject({ code: 'closed' });
      log = await fixture.open();
      expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
      expect(await log.bounds(cut)).toEqual({ start: 1, end: 3 });
      expect(await log.bounds(emptied)).toEqual({ start: 3, end: 3 });
      expect(baseOf(await new LogWriter(log, emptied).append(record(4)))).toBe(3);
    });
  });
}

/** The value as text: comparing (and printing) long byte arrays element by element takes seconds. */
function comparable({ value, ...rest }: StoredRecord): Omit<StoredRecord, 'value'> & { readonly value: string } {
  return { ...rest, value: Buffer.from(value).toString('base64') };
}
