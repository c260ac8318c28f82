/** Kafka's own command line tools, for what kafkajs cannot ask: `kafka-configs.sh` for users and quotas. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findKafkaLibs } from './kafka-libs.ts';

const run = promisify(execFile);

/** What `kafka-configs.sh --bootstrap-server … --alter` does with these arguments. */
export async function kafkaConfigs(brokers: readonly string[], ...line: readonly string[]): Promise<void> {
  const libs = await findKafkaLibs();
  if ('missing' in libs) throw new Error(libs.missing);
  const jvm = ['-Xmx64m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', join(libs.folder, '*')];
  await run('java', [...jvm, 'kafka.admin.ConfigCommand', '--bootstrap-server', brokers.join(','), '--alter', ...line]);
}
