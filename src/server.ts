/**
 * What the command line knows of the server.
 *
 * A log takes a thread or a network to open, and the other parts take as long to load: here both go on at the same time, so this file imports
 * nothing that is not needed to open the log. The parts are put together in composition.ts.
 */
import type { KafkaOptions } from './config/kafka-options.ts';
import type { PostgresOptions } from './config/postgres-options.ts';
import type { BrokerProbe, PostgresProbe, RunningServer, ServerOptions } from './config/server-options.ts';
import { logOpener } from './start/open-log.ts';
import { checkNobodys, isStateAlone, type OpenState, openState } from './start/open-state.ts';

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const fatal = onceFatal(options);
  if (asksForMore(options)) await (await import('./composition.ts')).checkSetUp(options);
  let openingState: Promise<OpenState | undefined> | undefined;
  const state = (): Promise<OpenState | undefined> => (openingState ??= openState(options));
  const checkState = async (logName: string): Promise<void> => {
    const found = await state();
    if (found !== undefined) await checkNobodys(found, logName);
  };
  try {
    const open = await logOpener({ ...options, beforeMakingTopics: checkState }, fatal);
    if (isStateAlone(options.log)) await checkState(options.log.filename);
    const opening = open();
    const [openLog, openedState, { compose }] = await Promise.all([opening, state(), import('./composition.ts')]);
    return await compose(options, { log: openLog, state: openedState }, fatal);
  } catch (error) {
    // Its thread would keep the process alive.
    await (await openingState)?.database.close();
    throw error;
  }
}

/** Than every server has: whether a cluster can be set up so is looked at before anything is made. */
function asksForMore({ searchAttributes, namespaces }: ServerOptions): boolean {
  return searchAttributes.size > 0 || namespaces.some((name) => name !== 'default');
}

/** Whether the brokers let us in; changes nothing there. */
export async function tryBrokers(kafka: KafkaOptions): Promise<readonly BrokerProbe[]> {
  const { probeBrokers } = await import('./topics/kafka/probe.ts');
  return await probeBrokers(kafka);
}

/** Why a start on these brokers would be refused; undefined: nothing that can be seen without one. Changes nothing there. */
export async function whyKafkaIsRefused(
  kafka: KafkaOptions,
  options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions'>,
): Promise<string | undefined> {
  const { whyRefused } = await import('./composition.ts');
  return await whyRefused(kafka, options);
}

/** Whether PostgreSQL lets us in, and has our tables; changes nothing there. */
export async function tryPostgres(postgres: PostgresOptions): Promise<PostgresProbe> {
  const { probePostgres } = await import('./database/postgres/probe.ts');
  return await probePostgres(postgres);
}

function onceFatal(options: ServerOptions): (error: Error) => void {
  let told = false;
  return (error) => {
    if (told) return;
    told = true;
    options.onFatal(error);
  };
}
