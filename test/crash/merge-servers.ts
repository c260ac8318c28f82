/** A server whose tasks of one kind fail for good, and one at its address and on its journals that is well. */
import { randomUUID } from 'node:crypto';
import type { DevFault } from '../../src/config/dev-faults.ts';
import { embeddedServer, kafkaServer, type KafkaServerSettings } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';

export type Site = {
  /** For the files of servers. */
  readonly folder: string;
  /** Journals where there is no broker. */
  readonly database: string;
  readonly brokers?: readonly string[] | undefined;
  readonly postgresPort?: number | undefined;
};

export type Pair = {
  readonly faulty: ServerProcess;
  readonly mended: ServerProcess;
  /** Of their topics; '': they have none. */
  readonly topicPrefix: string;
};

export async function faultyAndMended(site: Site, taskType = 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION'): Promise<Pair> {
  const { folder, database, brokers, postgresPort } = site;
  const devFault: DevFault = { taskType, namespace: undefined, errorMessage: 'planted', kind: 'permanent', share: 1 };
  if (brokers === undefined) {
    const mended = await embeddedServer(database);
    const port = Number(mended.address.split(':')[1]);
    return { faulty: await embeddedServer(database, [], { devFaults: [devFault] }, port), mended, topicPrefix: '' };
  }
  const url = `postgres://perdure@127.0.0.1:${postgresPort}/postgres`;
  const perdure = postgresPort === undefined ? [] : [`postgres: { url: "${url}" }`];
  const topicPrefix = `merge-${randomUUID()}`;
  const settings: KafkaServerSettings = { brokers, topicPrefix, perdure };
  const mended = await kafkaServer(folder, settings);
  const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: [devFault] } }, Number(mended.address.split(':')[1]));
  return { faulty, mended, topicPrefix };
}
