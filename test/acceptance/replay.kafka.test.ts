/**
 * Folding the journal gives the live state, at every step, on every log, also after the partition was opened again.
 *
 *     program ─▶ plain core ─────────────────────▶ state a ┐
 *            └─▶ loop, core, codec ─▶ log ─▶ live ─▶ state b ├ equal
 *                                      └─▶ second reader ─▶ state c ┘
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import type { Log, PartitionId } from '../../src/ports/log.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { baseOf, LogWriter } from '../contract/log-writer.ts';
import { programStep } from '../history/random-program.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { seed } from '../support/seed.ts';
import { withFolder } from '../support/servers.ts';
import { JournalReader, LivePartition } from './history-partition.ts';
import { scriptOf } from './history-script.ts';
import type { ScriptEntry } from './history-script.ts';

/** A journal that nobody has written to, and how to come back to it. */
type Journal = {
  readonly partition: PartitionId;
  /** Of the owner. Opened anew where a log survives that. */
  open(): Promise<Log>;
  release(log: Log): Promise<void>;
  /** Of somebody else: its own connections, where that is possible. */
  reader(owner: Log): Log;
  /** Lets a fenced owner's records in between, where others can write at all. */
  stranger: Log | undefined;
};

type Plan = {
  /** So many commands are decided before all is compared. */
  readonly stride: number;
  /** Where in the program the partition is opened again, as a part of its length; the last time at the end. */
  readonly reopenAt: readonly number[];
  readonly crash: boolean;
};

const plan: fc.Arbitrary<Plan> = fc.record({
  stride: fc.constantFrom(1, 1, 3, 10),
  reopenAt: fc
    .array(fc.double({ min: 0.3, max: 1, noNaN: true }), { maxLength: 2 })
    .map((places) => [...places.toSorted((a, b) => a - b), 1]),
  crash: fc.boolean(),
});
const program = fc.array(programStep, { minLength: 60, maxLength: 250, size: 'max' }).map(scriptOf);

/** What a check went through: a property over programs in which nothing happens proves nothing. */
class Tally {
  comparisons = 0;
  records = 0;
  void = 0;
  readonly types = new Set<string>();
}

async function holds(journal: Journal, script: readonly ScriptEntry[], { stride, reopenAt, crash }: Plan, tally: Tally): Promise<void> {
  let owner = await journal.open();
  let live = await LivePartition.open(owner, journal.partition, script[0]?.nowMs ?? 0);
  let reader = new JournalReader(journal.reader(owner), journal.partition);
  // A takeover loses what was volatile, as it should; from then on live and journal must agree, but not with the plain core.
  let sameAsPlain = true;
  let at = 0;
  for (const place of reopenAt) {
    const until = Math.round(place * script.length);
    for (const group of groupsOf(script.slice(at, until), stride)) {
      if (journal.stranger !== undefined) await intrude(journal.stranger, journal.partition, reader);
      await live.play(group);
      await reader.readTo(live.status.offset);
      expect(reader.state, `journal and memory differ after entry ${at}`).toBe(live.state);
      if (sameAsPlain) expect(live.state, `the loop's core and the plain core differ after entry ${at}`).toBe(group.at(-1)?.stateAfter);
      tally.comparisons += 1;
      at += group.length;
    }
    const before = live.state;
    if (crash) live.close();
    else await live.drain();
    await journal.release(owner);
    owner = await journal.open();
    live = await LivePartition.open(owner, journal.partition, script[at - 1]?.nowMs ?? 0);
    expect(live.state, 'the state after opening it again').toBe(before);
    const whole = new JournalReader(journal.reader(owner), journal.partition);
    await whole.readTo(live.status.offset);
    expect(whole.state, 'the whole journal, read from its beginning').toBe(before);
    expect(whole.position).toMatchObject({ epoch: live.status.epoch, sequence: live.status.sequence });
    reader = whole;
    sameAsPlain = false;
  }
  tally.records += reader.counted;
  tally.void += reader.void;
  for (const type of reader.types) tally.types.add(type);
  live.close();
  await journal.release(owner);
}

/** Commands of one moment may be decided in one turn. */
function groupsOf(script: readonly ScriptEntry[], stride: number): readonly (readonly ScriptEntry[])[] {
  const groups: ScriptEntry[][] = [];
  for (const entry of script) {
    const open = groups.at(-1);
    const fits = open !== undefined && open.length < stride && open[0]?.nowMs === entry.nowMs;
    if (fits) open.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

/** What a frozen predecessor and a repeated request leave behind: both must be passed over. */
async function intrude(log: Log, partition: PartitionId, reader: JournalReader): Promise<void> {
  const last = reader.lastCounted;
  if (last === undefined || reader.position.offset % 3 !== 0) return;
  const { epoch, sequence } = reader.position;
  const writer = new LogWriter(log, partition);
  const fenced = { ...last, epoch: epoch - 1, sequence: sequence + 1 };
  const hole = { ...last, epoch, sequence: sequence + 2 };
  baseOf(await writer.append(fenced, last, hole));
  writer.detach();
}

/** Gives what was compared, so that each log can say what it must have seen. */
async function check(runs: number, newJournal: () => Promise<Journal>): Promise<Tally> {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(program, plan, async (script, how) => {
      fc.pre(script.length > 0);
      await holds(await newJournal(), script, how, tally);
    }),
    { numRuns: runs },
  );
  return tally;
}

/** Every append of a program waits for a file or a broker, and a failure is shrunk: a busy machine may take minutes. */
const timeout = 600_000;

describe(`replaying the journal gives the live state (seed ${seed})`, { timeout }, () => {
  test('embedded, in memory', async () => {
    const tally = await check(60, async () => {
      const topic = 'history';
      const log = await openEmbeddedLog({ filename: undefined, topics: [{ name: topic, partitions: 1 }] });
      // It ends with its log: the partition is opened again on the log that is still there.
      return { partition: { topic, partition: 0 }, open: async () => log, release: async () => {}, reader: () => log, stranger: undefined };
    });
    expect(tally.types.size, 'kinds of events').toBeGreaterThan(30);
    expect(tally.comparisons).toBeGreaterThan(2_000);
  });

  test('embedded, in a file', async () => {
    await withFolder(async (folder) => {
      await check(20, async () => {
        const topic = 'history';
        const filename = join(folder, `${randomUUID()}.db`);
        const open = (): Promise<Log> => openEmbeddedLog({ filename, topics: [{ name: topic, partitions: 1 }] });
        return { partition: { topic, partition: 0 }, open, release: (log) => log.close(), reader: (owner) => owner, stranger: undefined };
      });
    });
  });

  const kafka = inject('kafka');
  if ('missing' in kafka) skipAloud('replay on Kafka', kafka.missing);
  else test('Kafka, with records of a fenced owner in between', () => onKafka(kafka.brokers));
});

async function onKafka(brokers: readonly string[]): Promise<void> {
  const runs = 15;
  const topicPrefix = `replay-${randomUUID()}`;
  const topic = `${topicPrefix}.history`;
  const options = { brokers, topicPrefix, replicationFactor: 1, tls: undefined, sasl: undefined, autoCreateTopics: true };
  // Shrinking a failure takes partitions as well.
  const partitions = runs + 50;
  // A busy broker leads so many only a while after they are made.
  const requestTimeoutMs = 30_000;
  const open = (): Promise<Log> =>
    openKafkaLog({ kafka: options, topics: [{ name: topic, partitions, purpose: 'a test' }], logger: silentLogger, requestTimeoutMs });
  const [other, stranger] = [await open(), await open()];
  let used = 0;
  try {
    const tally = await check(runs, async () => {
      const partition = { topic, partition: used++ };
      return { partition, open, release: (log) => log.close(), reader: () => other, stranger };
    });
    expect(tally.void, 'records that do not count').toBeGreaterThan(100);
  } finally {
    await other.close();
    await stranger.close();
  }
}
