/** The clusters that the rows need: one broker behind a proxy, three brokers, a broker that asks for a login, one on a small disk. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';
import { startLocalKafka } from '../../kafka/broker.ts';
import { LocalCluster } from '../../kafka/cluster.ts';
import { freePorts, type LocalBroker } from '../../kafka/local-broker.ts';
import { FaultyProxy } from '../../kafka/proxy.ts';
import { kafkaConfigs } from '../../kafka/tools.ts';
import { kafkaClient, withAdmin } from '../kafka-admin.ts';
import type { AclEntry, Kafka } from 'kafkajs';

const run = promisify(execFile);

export type Site = {
  /** For the server. */
  readonly brokers: readonly string[];
  /** For people, past the proxy and without a login. */
  readonly kafka: Kafka;
  readonly replicationFactor: number;
  /** As it stands in the server's file, now. */
  readonly sasl?: string;
  stop(): Promise<void>;
};

/** Started when the first row needs it. */
export type SiteKind<S extends Site> = { readonly name: string; readonly start: () => Promise<S> };

export type OneBroker = Site & {
  readonly broker: LocalBroker;
  /** At the address that the broker advertises. */
  readonly proxy: FaultyProxy;
  /** The same listener as it can be reached past the proxy: whoever asks there is sent to the proxy. */
  readonly bootstrap: string;
};

/** What compaction and retention take minutes for elsewhere happens at once here. */
const hastySettings = {
  'log.cleaner.backoff.ms': '200',
  'log.cleaner.min.cleanable.ratio': '0.01',
  'log.retention.check.interval.ms': '300',
};

function oneBrokerOf(version: string | undefined): () => Promise<OneBroker> {
  return async () => {
    const [port = 0, controller = 0, direct = 0] = await freePorts(3);
    const proxy = await FaultyProxy.start(() => port);
    const settings = {
      ...hastySettings,
      listeners: `PLAINTEXT://127.0.0.1:${port},DIRECT://127.0.0.1:${direct},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${proxy.port},DIRECT://127.0.0.1:${direct}`,
      'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,DIRECT:PLAINTEXT',
      'inter.broker.listener.name': 'DIRECT',
    };
    const broker = await startLocalKafka({ ports: [port, controller], settings, ...(version === undefined ? {} : { version }) });
    return {
      brokers: [`127.0.0.1:${proxy.port}`],
      kafka: kafkaClient([`127.0.0.1:${direct}`]),
      replicationFactor: 1,
      broker,
      proxy,
      bootstrap: `127.0.0.1:${port}`,
      stop: async () => {
        await proxy.close();
        await broker.stop();
      },
    };
  };
}

export const oneBroker: SiteKind<OneBroker> = { name: 'one broker behind a proxy', start: oneBrokerOf(undefined) };

export function oneBrokerOfVersion(version: string): SiteKind<OneBroker> {
  return { name: `one broker of Kafka ${version}`, start: oneBrokerOf(version) };
}

export type ThreeBrokers = Site & { readonly cluster: LocalCluster };

export const threeBrokers: SiteKind<ThreeBrokers> = {
  name: 'three brokers',
  start: async () => {
    const cluster = await LocalCluster.start();
    return { brokers: cluster.brokers, kafka: kafkaClient(cluster.brokers), replicationFactor: 3, cluster, stop: () => cluster.stop() };
  },
};

export type LoginBroker = Site & {
  readonly broker: LocalBroker;
  readonly setPassword: (password: string) => Promise<void>;
  /** The right to do everything with Perdure's topics. */
  readonly allow: () => Promise<void>;
  readonly deny: () => Promise<void>;
};

const firstPassword = 'first-secret';
/** kafkajs logs in again when less than ten seconds of its session are left: here after two. */
const sessionMs = 12_000;

export const loginBroker: SiteKind<LoginBroker> = {
  name: 'a broker that asks for a login',
  start: async () => {
    const [operator = 0, controller = 0, sasl = 0] = await freePorts(3);
    const external = `PLAINTEXT://127.0.0.1:${operator},SASL_PLAINTEXT://127.0.0.1:${sasl}`;
    const broker = await startLocalKafka({
      ports: [operator, controller],
      settings: {
        listeners: `${external},CONTROLLER://127.0.0.1:${controller}`,
        'advertised.listeners': external,
        'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT',
        'sasl.enabled.mechanisms': 'SCRAM-SHA-256',
        'listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config': 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
        'connections.max.reauth.ms': String(sessionMs),
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
      },
      formatArguments: ['--add-scram', `SCRAM-SHA-256=[name=perdure,password=${firstPassword}]`],
    });
    const operators = [`127.0.0.1:${operator}`];
    let current = firstPassword;
    const setPassword = async (password: string): Promise<void> => {
      const user = ['--entity-type', 'users', '--entity-name', 'perdure'];
      await kafkaConfigs(operators, '--add-config', `SCRAM-SHA-256=[password=${password}]`, ...user);
      current = password;
    };
    const kafka = kafkaClient(operators);
    const allow = (): Promise<void> => withAdmin(kafka, async (admin) => void (await admin.createAcls({ acl: [topicRights()] })));
    const deny = (): Promise<void> => withAdmin(kafka, async (admin) => void (await admin.deleteAcls({ filters: [topicRights()] })));
    await allow();
    return {
      brokers: [`127.0.0.1:${sasl}`],
      kafka,
      replicationFactor: 1,
      get sasl() {
        return `{ mechanism: scram-sha-256, username: perdure, password: ${current} }`;
      },
      broker,
      setPassword,
      allow,
      deny,
      stop: () => broker.stop(),
    };
  },
};

function topicRights(): AclEntry {
  const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
  return {
    resourceType: AclResourceTypes.TOPIC,
    resourceName: 'hands-',
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    principal: 'User:perdure',
    host: '*',
    operation: AclOperationTypes.ALL,
    permissionType: AclPermissionTypes.ALLOW,
  };
}

export type SmallDisk = Site & { readonly broker: LocalBroker; readonly fill: () => Promise<void>; readonly free: () => Promise<void> };

const diskMiB = 96;

/** Needs the right to mount a file system in memory. */
export const smallDisk: SiteKind<SmallDisk> = {
  name: 'a broker on a small disk',
  start: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-small-disk-'));
    await run('mount', ['-t', 'tmpfs', '-o', `size=${diskMiB}m`, 'tmpfs', folder]);
    const unmount = async (): Promise<void> => {
      await run('umount', [folder]);
      await rm(folder, { recursive: true, force: true });
    };
    try {
      const broker = await startLocalKafka({ settings: { 'log.dirs': join(folder, 'log'), 'log.index.size.max.bytes': '65536' } });
      const ballast = join(folder, 'ballast');
      return {
        brokers: broker.brokers,
        kafka: kafkaClient(broker.brokers),
        replicationFactor: 1,
        broker,
        fill: async () => await writeFile(ballast, Buffer.alloc(diskMiB * 1024 * 1024)).catch(() => {}),
        free: async () => await rm(ballast, { force: true }),
        stop: async () => {
          await broker.stop();
          await unmount();
        },
      };
    } catch (error) {
      await unmount();
      throw error;
    }
  },
};

export async function canMount(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-mount-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
    await run('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
