/**
 * Prints the records of a topic in a line each: what happened to which workflow, without decoding any value.
 *
 *     node scripts/show-topic.ts --brokers localhost:9092 --topic perdure.history [--partition 3] [--limit 100]
 *     node scripts/show-topic.ts --file perdure.db [--topic perdure.history]         with the server stopped: it holds the file's lock
 */
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { LogError } from '../src/ports/log.ts';
import { silentLogger } from '../src/observability/logger.ts';
import { openEmbeddedLog } from '../src/topics/embedded/embedded-log.ts';
import { logFailure } from '../src/topics/embedded/journal-db.ts';
import { withAdmin } from '../src/topics/kafka/admin.ts';
import { connectKafkaLog } from '../src/topics/kafka/kafka-log.ts';
import type { Log, StoredRecord, TopicSpec } from '../src/ports/log.ts';

const usage = `Prints the records of a topic in a line each: what happened to which workflow, without decoding any value.

  node scripts/show-topic.ts --brokers localhost:9092 --topic perdure.history
  node scripts/show-topic.ts --file perdure.db               with the server stopped: it holds the file's lock

  --brokers    host:port of a broker; several with commas (no TLS, no login)
  --file       the file of a server without Kafka
  --topic      which topic; with --file default: all
  --partition  which partition; default: all
  --limit      lines of each partition; default: all
`;
const pageBytes = 1024 * 1024;

type Opened = { readonly log: Log; readonly topics: readonly Pick<TopicSpec, 'name' | 'partitions'>[] };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      brokers: { type: 'string' },
      file: { type: 'string' },
      topic: { type: 'string' },
      partition: { type: 'string' },
      limit: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return void process.stdout.write(usage);
  const opened = await open(values);
  const limit = values.limit === undefined ? Infinity : Number(values.limit);
  try {
    for (const { name, partitions } of opened.topics) {
      if (values.topic !== undefined && values.topic !== name) continue;
      for (let partition = 0; partition < partitions; partition++) {
        if (values.partition === undefined || Number(values.partition) === partition) await show(opened.log, name, partition, limit);
      }
    }
  } finally {
    await opened.log.close();
  }
}

type Source = { readonly brokers?: string; readonly file?: string; readonly topic?: string };

async function open({ brokers, file, topic }: Source): Promise<Opened> {
  if (file !== undefined) {
    const topics = storedTopics(file);
    return { log: await openEmbeddedLog({ filename: file, topics }), topics };
  }
  if (brokers === undefined || topic === undefined)
    throw new LogError('misconfigured', `name --file, or --brokers and --topic\n\n${usage}`);
  const kafka = {
    brokers: brokers.split(','),
    topicPrefix: '',
    replicationFactor: 1,
    tls: undefined,
    sasl: undefined,
    autoCreateTopics: false,
  };
  const partitions = await withAdmin({ kafka, logger: silentLogger }, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) return undefined;
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length;
  });
  if (partitions === undefined) throw new LogError('misconfigured', `there is no topic ${topic} on ${brokers}`);
  const topics = [{ name: topic, partitions, purpose: '' }];
  return { log: await connectKafkaLog({ kafka, topics, logger: silentLogger }), topics };
}

function storedTopics(filename: string): readonly Pick<TopicSpec, 'name' | 'partitions'>[] {
  try {
    const db = new DatabaseSync(filename, { readOnly: true });
    try {
      const rows = db.prepare('SELECT topic, count(*) AS partitions FROM partitions GROUP BY topic ORDER BY min(id)').all();
      return rows.map(({ topic, partitions }) => ({ name: String(topic), partitions: Number(partitions) }));
    } finally {
      db.close();
    }
  } catch (error) {
    throw logFailure(error, filename);
  }
}

async function show(log: Log, topic: string, partition: number, limit: number): Promise<void> {
  const { start, end } = await log.bounds({ topic, partition });
  let shown = 0;
  for (let offset = start; offset < end && shown < limit;) {
    for (const record of await log.read({ topic, partition }, offset, pageBytes)) {
      offset = record.offset + 1;
      if (shown++ < limit) process.stdout.write(`${line(topic, partition, record)}\n`);
    }
  }
}

function line(topic: string, partition: number, record: StoredRecord): string {
  const when = new Date(record.timeMs).toISOString();
  const run = record.runId === '' ? '' : `  run-id=${record.runId}`;
  const what = record.type === '' ? '(not written by Perdure)' : record.type;
  return `${topic}/${partition} @${record.offset}  ${when}  ${record.epoch}.${record.sequence}  ${record.key}  ${what}${run}  ${record.value.byteLength} bytes`;
}

// A reader that has seen enough (`… | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
try {
  await main();
} catch (error) {
  // What the log says of Kafka names the keys of a server file; here a flag stands for the only one of them.
  const message = (error instanceof Error ? error.message : String(error)).replaceAll('perdure.kafka.brokers', '--brokers');
  process.stderr.write(`show-topic: ${message}\n`);
  process.exitCode = 1;
}
