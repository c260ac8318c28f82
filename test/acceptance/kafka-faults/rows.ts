/** What people, machines and networks do to Kafka while a server works, row by row. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { kafkaConfigs } from '../../kafka/tools.ts';
import { deleteRecordsBefore, deleteTopic, obey, setTopic, withAdmin } from '../kafka-admin.ts';
import { type Hands, type Row, row } from './row.ts';
import { loginBroker, oneBroker, oneBrokerOfVersion, smallDisk, threeBrokers } from './sites.ts';
import type { OneBroker, ThreeBrokers } from './sites.ts';
import { writeClaims, writeCompressed, writeTombstones, writeTransactions } from './strangers.ts';

const historyPartitions = 4;
const outageSaid = /partitions wait for Kafka/;
const outageOver = /Kafka serves all partitions again/;
/** Instead of a minute. */
const hurried = { hidden: { topicWatchIntervalMs: 500 } };

// ── Brokers that stop, die and freeze ────────────────────────────────────────────────────────────────────────────────────────────

const brokers: readonly Row[] = [
  row(threeBrokers, {
    name: 'rolling restart of three brokers',
    did: 'SIGTERM and start again, one after another, each once the others have all records',
    act: async (hands, { cluster, kafka }) => {
      for (const node of cluster.nodes) {
        await inSync(kafka, hands);
        await node.restart();
      }
      await inSync(kafka, hands);
    },
  }),
  row(threeBrokers, {
    name: 'kill -9 of a leader, three brokers',
    did: 'the leader of a shard is killed; started again once all shards serve without it',
    act: async (hands, { cluster, kafka }) => {
      const leader = cluster.node(await leaderPort(kafka, hands));
      hands.countFromNow();
      await leader.kill9();
      await hands.servesAgain(Date.now());
      await leader.restart();
      await inSync(kafka, hands);
    },
  }),
  row(threeBrokers, {
    name: 'kill -9 of two of three brokers',
    did: 'two are killed together for 4 s: too few replicas are left, so nothing may be acknowledged',
    act: async (hands, { cluster, kafka }) => {
      const victims = cluster.nodes.slice(0, 2);
      await Promise.all(victims.map((node) => node.kill9()));
      await delay(4_000);
      await Promise.all(victims.map((node) => node.restart()));
      hands.countFromNow();
      await inSync(kafka, hands);
    },
  }),
  row(threeBrokers, {
    name: 'a frozen broker of three',
    did: 'SIGSTOP of the leader of a shard for 12 s (session timeout of the cluster: 2 s)',
    act: async (hands, { cluster, kafka }) => {
      const leader = cluster.node(await leaderPort(kafka, hands));
      hands.countFromNow();
      leader.pause();
      await delay(12_000);
      leader.resume();
      await inSync(kafka, hands);
    },
  }),
  row(oneBroker, {
    name: 'the only broker blinks',
    did: 'three times SIGSTOP for at most 1.5 s, which a request survives',
    replaysMax: 0,
    act: async (hands, { broker }) => {
      for (let blink = 0; blink < 3; blink++) {
        broker.pause();
        await delay(hands.random() * 1_500);
        broker.resume();
        await hands.moreWorkflows(5);
      }
      hands.countFromNow();
    },
  }),
  row(oneBroker, {
    name: 'the only broker freezes',
    did: 'SIGSTOP for 7 s, longer than a request may take',
    act: async (hands, { broker }) => {
      broker.pause();
      await delay(7_000);
      broker.resume();
      hands.countFromNow();
      await hands.said(outageSaid);
    },
  }),
  row(oneBroker, {
    name: 'the only broker dies',
    did: 'kill -9, started again after 3 s',
    act: async (hands, { broker }) => {
      await broker.kill9();
      await delay(3_000);
      await broker.restart();
      hands.countFromNow();
      await hands.said(outageSaid);
      await hands.said(outageOver);
    },
  }),
  row(oneBroker, {
    name: 'the server freezes',
    did: 'SIGSTOP of Perdure for 6 s',
    act: async (hands) => {
      hands.server.pause();
      await delay(6_000);
      hands.server.resume();
      hands.countFromNow();
    },
  }),
];

const disk: readonly Row[] = [
  row(smallDisk, {
    name: 'the disk is full',
    did: 'the disk of a broker fills up and the broker exits; after 2 s there is space again, and it is started',
    act: async (hands, { broker, fill, free }) => {
      await fill();
      await broker.exited();
      await delay(2_000);
      await free();
      await broker.restart();
      hands.countFromNow();
    },
  }),
];

// ── The network ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const network: readonly Row[] = [
  row(oneBroker, {
    name: '50 ms of latency',
    did: '25 ms in each direction, for 4 s',
    replaysMax: 0,
    act: async (_, { proxy }) => {
      proxy.delayMs = 25;
      await delay(4_000);
      proxy.delayMs = 0;
    },
  }),
  row(oneBroker, {
    name: 'half-open connections',
    did: 'all open connections go silent, as behind a firewall that forgot them; new ones work',
    act: async (hands, { proxy }) => {
      hands.countFromNow();
      proxy.silence('all');
    },
  }),
  row(oneBroker, {
    name: 'lost replies',
    did: 'three times: requests reach the broker, its replies do not reach the server',
    act: async (hands, { proxy }) => {
      for (let round = 0; round < 3; round++) {
        const begunMs = Date.now();
        proxy.silence('answers');
        await hands.servesAgain(begunMs);
      }
    },
  }),
  row(oneBroker, {
    name: '1 % connection resets',
    did: 'for 8 s one in a hundred chunks that are sent to the broker ends its connection',
    replaysMax: 0,
    act: async (hands, { proxy }) => {
      proxy.resetShare = 0.01;
      await delay(8_000);
      proxy.resetShare = 0;
      hands.countFromNow();
    },
  }),
  row(oneBroker, {
    name: 'the advertised listener is cut off while serving',
    did: 'the bootstrap address answers, but the address that the broker advertises refuses connections for 5 s',
    server: ({ bootstrap }) => ({ brokers: [bootstrap] }),
    act: async (hands, { proxy, bootstrap }) => {
      await proxy.close();
      await delay(5_000);
      await proxy.open();
      hands.countFromNow();
      const advertised = `127.0.0.1:${proxy.port}`;
      const error = `broker 1 at ${advertised}, the listener that it advertises \\(reported by ${bootstrap}\\)[^"]*ECONNREFUSED`;
      await hands.said(new RegExp(`partitions wait for Kafka.*"brokers":"1 at ${advertised}","error":"[^"]*${error}`));
      await hands.said(outageOver);
    },
  }),
  row(oneBroker, {
    name: 'the advertised listener cannot be reached at a start',
    did: 'the same during a restart: the start fails and names the address, the next start serves',
    server: ({ bootstrap }) => ({ brokers: [bootstrap] }),
    act: async (hands, { proxy, bootstrap }) => {
      await hands.stopServer();
      await proxy.close();
      assert.match(
        await hands.refusedStart(),
        new RegExp(`Kafka answers at ${bootstrap}, but advertises a broker at 127.0.0.1:${proxy.port}, which cannot be reached from here`),
      );
      await proxy.open();
      hands.countFromNow();
      await hands.startServer();
    },
  }),
];

// ── What people set ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const settings: readonly Row[] = [
  row(oneBroker, {
    name: 'max.message.bytes too small',
    did: 'lowered to 600 bytes on .history for 6 s',
    replaysMax: 0,
    act: async (hands, { kafka }) => {
      await set(kafka, hands, { 'max.message.bytes': '600' });
      await delay(6_000);
      await set(kafka, hands, { 'max.message.bytes': '8388608' });
      hands.countFromNow();
      await hands.said(outageSaid);
    },
  }),
  row(oneBroker, {
    name: 'retention that deletes',
    did: 'retention.ms=604800000 on .history: a warning before anything is lost; the command that it names repairs it',
    replaysMax: 0,
    server: () => hurried,
    act: async (hands, { kafka }) => {
      await set(kafka, hands, { 'retention.ms': '604800000' });
      const { message, repair = '' } = await hands.concern(hands.topic('history'), 'warning');
      assert.match(message, /retention\.ms=604800000/);
      await withAdmin(kafka, (admin) => obey(admin, repair));
      hands.countFromNow();
      await hands.said(/the settings of all topics are correct again/);
    },
  }),
  row(oneBroker, {
    name: 'a partition added',
    did: 'a fifth partition of .history, and a restart: it is not used',
    replaysMax: 0,
    act: async (hands, { kafka }) => {
      const topic = hands.topic('history');
      await withAdmin(kafka, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count: historyPartitions + 1 }] }));
      await hands.servesAgain(Date.now());
      await hands.restartServer();
      hands.countFromNow();
      await hands.said(/"level":"warn","msg":"partitions that were added to a topic are ignored[^}]*"found":5,"served":4/);
    },
  }),
  row(oneBroker, {
    name: 'a quota',
    did: 'producer_byte_rate of 20,000 for the client id perdure until it throttles, and for 3 s more',
    replaysMax: 0,
    act: async (hands, { bootstrap }) => {
      const client = ['--entity-type', 'clients', '--entity-name', 'perdure'];
      await kafkaConfigs([bootstrap], '--add-config', 'producer_byte_rate=20000', ...client);
      await hands.said(/"level":"warn","msg":"Kafka throttles this client: a quota[^}]*"throttledMs":[1-9]/);
      await delay(3_000);
      await kafkaConfigs([bootstrap], '--delete-config', 'producer_byte_rate', ...client);
      hands.countFromNow();
      await hands.said(/Kafka no longer throttles this client/);
    },
  }),
  row(loginBroker, {
    name: 'logging in again',
    did: 'sessions end after 12 s: every connection logs in again while it is used, for 8 s',
    replaysMax: 0,
    act: async () => await delay(8_000),
  }),
  row(loginBroker, {
    name: 'password rotation',
    did: 'the password at the broker is changed; the server continues until its session ends, and is restarted with the new one',
    act: async (hands, { setPassword }) => {
      await setPassword(`secret-${crypto.randomUUID()}`);
      await hands.said(/partitions wait for Kafka.*authentication failed/);
      // Nothing can be committed any more: it leaves without draining, with 1 if anybody waited for it.
      await hands.server.stop();
      assert.ok([0, 1].includes((await hands.server.exitCode(0)) ?? -1), hands.output.slice(-3_000));
      await hands.startServer();
      hands.countFromNow();
    },
  }),
  row(loginBroker, {
    name: 'rights are missing',
    did: 'the ACL for the topics is removed for 4 s',
    act: async (hands, { allow, deny }) => {
      await deny();
      await delay(4_000);
      await allow();
      hands.countFromNow();
      await hands.said(/TOPIC_AUTHORIZATION_FAILED/);
    },
  }),
];

// ── What strangers write ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Write = typeof writeTransactions;
const written = (name: string, did: string, write: Write): Row =>
  row(oneBroker, {
    name,
    did: `${did}; then a restart, which reads them`,
    replaysMax: 0,
    act: async (hands, { kafka }) => {
      await write(kafka, hands.topic('history'), historyPartitions);
      await hands.servesAgain(Date.now());
      await hands.restartServer();
    },
  });

const strangers: readonly Row[] = [
  written("strangers' transactions", 'one committed and one aborted in every partition', writeTransactions),
  written("strangers' tombstones", 'for 20 keys of the journal in every partition', writeTombstones),
  written('compressed batches', 'gzip, snappy and lz4 in every partition', writeCompressed),
  written('forged claims', 'claims with garbage, and with epoch 2^53 − 1, in every partition', writeClaims),
];

// ── Versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function onVersion(version: string): Row {
  return row(oneBrokerOfVersion(version), {
    name: `Kafka ${version}`,
    did: 'the broker is killed with -9 and frozen for 2 s, the server is restarted',
    act: async (hands, { broker }) => {
      await broker.kill9();
      await broker.restart();
      await hands.servesAgain(Date.now());
      broker.pause();
      await delay(2_000);
      broker.resume();
      await hands.restartServer();
    },
  });
}

// ── What loses records: it is said, and nothing is answered as if it were all there ──────────────────────────────────────────────

/** Partitions of .history lose their beginning while the server has it in memory. */
type Cut = {
  readonly name: string;
  readonly did: string;
  readonly cut: (hands: Hands, site: OneBroker) => Promise<void>;
  readonly says: RegExp;
  readonly untouched: readonly number[];
};

const cut = ({ name, did, cut: cutJournals, says, untouched }: Cut): Row =>
  row(oneBroker, {
    name,
    did: `${did}: unhealthy, but it serves on from memory; after a restart it refuses these partitions`,
    lossSays: /the journal starts at \d+, not at 0/,
    server: () => hurried,
    act: async (hands, site) => {
      await cutJournals(hands, site);
      await hands.concern(hands.topic('history'), 'lost');
      await hands.said(says);
      await hands.servesAgain(Date.now());
      await hands.restartServer();
      await hands.servesStill(untouched);
    },
  });

const deletedWhileStopped = (name: 'history' | 'matching' | 'cluster'): Row =>
  row(oneBroker, {
    name: `.${name} deleted while stopped`,
    did: 'the topic is deleted, and a start: it is not created again',
    refusalSays: new RegExp(`\\.${name} is missing, but .* hold records: its records are gone`),
    act: async (hands, { kafka }) => {
      await hands.stopServer();
      await withAdmin(kafka, (admin) => deleteTopic(admin, hands.topic(name)));
    },
  });

const losses: readonly Row[] = [
  row(oneBroker, {
    name: 'compacted, then restarted',
    did: 'cleanup.policy=compact on .history until the cleaner ran, set back to delete, and a restart',
    lossSays: /compact/,
    act: async (hands, { broker, kafka }) => {
      await hands.moreWorkflows(100);
      const compact = { 'cleanup.policy': 'compact', 'segment.ms': '200', 'min.cleanable.dirty.ratio': '0.001' };
      await set(kafka, hands, compact);
      await broker.cleaned(hands.topic('history'), historyPartitions);
      await set(kafka, hands, { 'cleanup.policy': 'delete', 'segment.ms': '604800000' });
      await hands.restartServer();
    },
  }),
  row(oneBroker, {
    name: 'deleted and created again while serving',
    did: '.history deleted and created again, empty',
    lossSays: /acknowledged records vanished/,
    act: async (hands, { kafka }) => {
      const topic = hands.topic('history');
      await withAdmin(kafka, async (admin) => {
        await deleteTopic(admin, topic);
        await admin.createTopics({ topics: [{ topic, numPartitions: historyPartitions }], waitForLeaders: false });
      });
    },
  }),
  cut({
    name: 'DeleteRecords',
    did: 'the first record of partitions 1 and 3 of .history is deleted',
    cut: async (hands, { kafka }) => await withAdmin(kafka, (admin) => deleteRecordsBefore(admin, hands.topic('history'), [1, 3], '1')),
    says: /has lost the beginning of journals \(partition 1 starts at 1, partition 3 starts at 1\): its settings are correct now/,
    untouched: [0, 2],
  }),
  cut({
    name: 'retention has deleted',
    did: 'retention.ms=1000 on .history until every partition has lost its beginning, and set back',
    cut: async (hands, { kafka }) => {
      const topic = hands.topic('history');
      await set(kafka, hands, { 'retention.ms': '1000', 'segment.ms': '500' });
      await withAdmin(kafka, async (admin) => {
        while ((await admin.fetchTopicOffsets(topic)).some(({ low }) => low === '0')) await delay(100);
      });
      await set(kafka, hands, { 'retention.ms': '-1', 'segment.ms': '604800000' });
    },
    says: /has lost the beginning of journals .*partition 3 starts at \d+\): .* a retention limit that was removed/,
    untouched: [],
  }),
  deletedWhileStopped('history'),
  deletedWhileStopped('matching'),
  deletedWhileStopped('cluster'),
];

export type RowChoice = {
  /** A file system in memory can be mounted. */
  readonly withDisk: boolean;
  /** Of Kafka, beside the one that all rows run on. */
  readonly versions: readonly string[];
};

/** Those at one site follow each other. */
export function chosenRows({ withDisk, versions }: RowChoice): readonly Row[] {
  const rows = [...brokers, ...(withDisk ? disk : []), ...network, ...settings, ...strangers, ...losses, ...versions.map(onVersion)];
  return [...Map.groupBy(rows, ({ site }) => site).values()].flat();
}

type Admin = Parameters<Parameters<typeof withAdmin>[1]>[0];
type KafkaClient = ThreeBrokers['kafka'];

async function set(kafka: KafkaClient, hands: Hands, values: Readonly<Record<string, string>>): Promise<void> {
  await withAdmin(kafka, (admin) => setTopic(admin, hands.topic('history'), new Map(Object.entries(values))));
}

/** The port of the broker that leads the first shard. */
async function leaderPort(kafka: KafkaClient, hands: Hands): Promise<number> {
  return await withAdmin(kafka, async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [hands.topic('history')] });
    const { brokers: nodes } = await admin.describeCluster();
    const leader = topics[0]?.partitions.find(({ partitionId }) => partitionId === 0)?.leader;
    const port = nodes.find(({ nodeId }) => nodeId === leader)?.port;
    if (port === undefined) throw new Error('the first shard has no leader');
    return port;
  });
}

/** Every replica holds everything: the next failure leaves enough of them. */
async function inSync(kafka: KafkaClient, hands: Hands): Promise<void> {
  const topics = (['history', 'matching', 'cluster'] as const).map((name) => hands.topic(name));
  const whole = async (admin: Admin): Promise<boolean> => {
    const found = await admin.fetchTopicMetadata({ topics }).catch(() => ({ topics: [] }));
    const partitions = found.topics.flatMap((topic) => topic.partitions);
    return found.topics.length === topics.length && partitions.every(({ isr, leader }) => isr.length === 3 && leader > 0);
  };
  await withAdmin(kafka, async (admin) => {
    while (!(await whole(admin))) await delay(50);
  });
}
