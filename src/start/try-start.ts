/** For `config validate --connect`: checks what a start would, in the same order, tells what it finds and would refuse, and changes nothing. */
import { addedTopics, clusterTopic } from '../topics/catalogue.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { silentLogger } from '../observability/logger.ts';
import { checkpointedJournals } from './before-claiming.ts';
import { ClusterDatabase } from './cluster-database.ts';
import { readKnownCluster, type KnownCluster } from './known-cluster.ts';
import { ignoredPartitions } from './layout.ts';
import { catalogueOf, checkFirstLayout, kafkaName, type Layout } from './open-log.ts';
import { claimsOf } from './server-contact.ts';
import { checkWholeJournals } from './whole-journals.ts';
import type { Database } from '../projections/database-port.ts';
import type { Log } from '../ports/log.ts';
import type { KafkaOptions } from '../config/kafka-options.ts';
import type { PostgresOptions } from '../config/postgres-options.ts';
import type { BrokerProbe, LogOptions, PostgresProbe, Tried } from '../config/server-options.ts';

type LogOnKafka = LogOptions & { readonly kind: 'kafka' };
type Identity = KnownCluster['identity'];
/** `log` is undefined if there are no topics yet. */
type FoundOnKafka = { readonly log: Log | undefined; readonly identity: Identity };

export async function tryStart({ kafka, state }: LogOnKafka, layout: Layout): Promise<readonly Tried[]> {
  const { probeBrokers } = await import('../topics/kafka/probe.ts');
  const brokers = (await probeBrokers(kafka)).map(triedBroker);
  const found = brokers.every(({ ok }) => ok) ? await tryTopics(kafka, layout) : undefined;
  try {
    const topics = found === undefined ? [] : [triedTopics(kafka.topicPrefix, found)];
    const database =
      state === undefined ? [] : [await tryPostgres(state.postgres, kafka, layout, typeof found === 'string' ? undefined : found)];
    return [...brokers, ...topics, ...database];
  } finally {
    if (typeof found === 'object') await found.log?.close();
  }
}

function triedBroker(probe: BrokerProbe): Tried {
  const { broker } = probe;
  if (probe.answer === 'failed') return { subject: broker, ok: false, message: probe.reason };
  const { length } = probe.advertised;
  const message = `ok, a cluster of ${length} broker${length === 1 ? '' : 's'}: ${probe.advertised.join(', ')}`;
  return { subject: broker, ok: true, message };
}

function triedTopics(prefix: string, found: FoundOnKafka | string): Tried {
  const subject = `topics ${prefix}.*`;
  if (typeof found === 'string') return { subject, ok: false, message: found };
  const { identity } = found;
  const whose =
    identity === undefined
      ? 'no cluster is there yet: a start makes one'
      : `cluster "${identity.clusterName}" (id ${identity.clusterId}), made with ${identity.historyShards} history shards`;
  return { subject, ok: true, message: `ok, ${whose}` };
}

/** Returns a text if a start would be refused, with the reason. */
async function tryTopics(kafka: KafkaOptions, layout: Layout): Promise<FoundOnKafka | string> {
  let log: Log | undefined;
  try {
    const prefix = kafka.topicPrefix;
    const topics = catalogueOf(prefix, layout);
    const { openKafkaLogForTrial } = await import('../topics/kafka/kafka-log.ts');
    const opened = await openKafkaLogForTrial({
      kafka,
      topics,
      logger: silentLogger,
      addedTopics: addedTopics(prefix, layout.clusterName),
      beforeMaking: async (existing) => checkFirstLayout(prefix, layout, topics, existing),
    });
    if (opened === undefined) return { log: undefined, identity: undefined };
    log = opened;
    const claims = claimsOf({ instance: '', addresses: [] });
    const known = await readKnownCluster(log, prefix, claims);
    ignoredPartitions({ prefix, identity: known.identity, configured: layout, topics: opened.topics });
    const partitions = checkpointedJournals(prefix, layout).map(({ partition }) => partition);
    await checkWholeJournals({ log, claims, known, partitions, clusterTopic: clusterTopic(prefix) });
    return { log, identity: known.identity };
  } catch (error) {
    await log?.close();
    return errorMessage(error);
  }
}

/** `found` is undefined if it is not known what is on Kafka. */
async function tryPostgres(
  postgres: PostgresOptions,
  kafka: KafkaOptions,
  layout: Layout,
  found: FoundOnKafka | undefined,
): Promise<Tried> {
  const { probePostgres } = await import('../projections/postgres/probe.ts');
  const probe = await probePostgres(postgres);
  const refused = (message: string): Tried => ({ subject: '', ok: false, message });
  // The reason begins with the name of the database.
  if (probe.answer === 'failed') return refused(probe.reason);
  const { database: subject, owner } = probe;
  const older = probe.tables === 'older' ? '; its tables are older, and a start brings them up to date' : '';
  const ok = (whose: string): Tried => ({ subject, ok: true, message: `ok, ${whose}${older}` });
  if (found === undefined) return ok(owner === undefined ? 'it holds no state yet' : `it holds the state of cluster ${owner}`);
  try {
    await checkDatabase({ postgres, probe, found, logName: kafkaName(kafka), prefix: kafka.topicPrefix, layout });
    return ok(owner === undefined ? 'it holds no state yet' : 'it holds the state of this cluster');
  } catch (error) {
    return refused(errorMessage(error));
  }
}

type DatabaseToCheck = {
  readonly postgres: PostgresOptions;
  readonly probe: PostgresProbe & { readonly answer: 'ok' };
  readonly found: FoundOnKafka;
  readonly logName: string;
  readonly prefix: string;
  readonly layout: Layout;
};

/** Throws DatabaseError or LogError, like a start. */
async function checkDatabase({ postgres, probe, found: { log, identity }, logName, prefix, layout }: DatabaseToCheck): Promise<void> {
  const { openPostgres } = await import('../projections/postgres/open-postgres.ts');
  const opened = openPostgres(postgres, silentLogger);
  // The probe knows the cluster of the database; asking the database itself would create its tables.
  const looked: Database = { ...opened, cluster: async () => probe.owner };
  const database: Database = probe.tables === 'none' ? { ...looked, position: async () => ({ fence: 0, position: undefined }) } : looked;
  try {
    const state = new ClusterDatabase({ database, isNew: false, logName, clusterId: identity?.clusterId });
    await state.checkOwner();
    // The position of older tables is known only after their migration.
    if (log !== undefined && probe.tables !== 'older') await state.checkJournals(log, checkpointedJournals(prefix, layout));
  } finally {
    await opened.close();
  }
}
