/** A server whose starts of children fail for good, and one at its address and on its journals that is well. */
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

const fault = { taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION', errorMessage: 'planted', kind: 'permanent', share: 1 } as const;
const devFault: DevFault = { ...fault, namespace: undefined };

export async function faultyAndMended(site: Site): Promise<{ readonly faulty: ServerProcess; readonly mended: ServerProcess }> {
  const { folder, database, brokers, postgresPort } = site;
  if (brokers === undefined) {
    const mended = await embeddedServer(database);
    const port = Number(mended.address.split(':')[1]);
    return { faulty: await embeddedServer(database, [], { devFaults: [devFault] }, port), mended };
  }
  const url = `postgres://perdure@127.0.0.1:${postgresPort}/postgres`;
  const perdure = postgresPort === undefined ? [] : [`postgres: { url: "${url}" }`];
  const settings: KafkaServerSettings = { brokers, topicPrefix: `merge-${randomUUID()}`, perdure };
  const mended = await kafkaServer(folder, settings);
  const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: [devFault] } }, Number(mended.address.split(':')[1]));
  return { faulty, mended };
}
