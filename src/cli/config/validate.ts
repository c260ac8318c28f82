import type { KafkaOptions } from '../../config/kafka-options.ts';
import { readDynamicConfig } from '../../config/dynamic-config-yaml.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import { renderProblems } from '../../config/problem.ts';
import type { BrokerProbe } from '../../config/server-options.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { printProblems, readServerFile, readText } from '../server-file.ts';

export async function runValidate({ flags, args, io }: Invocation): Promise<ExitCode> {
  const [file = ''] = args;
  if (flags.switched('dynamic') === true) return validateDynamic(file, io);
  const read = readServerFile(file, io, { strict: true, autoCreateTopics: true });
  printProblems(file, read, io);
  if (read.settings === undefined) return exitCodes.usage;
  io.out(`${file}: ok\n`);
  if (flags.switched('connect') !== true) return exitCodes.done;
  const { log } = read.settings.server;
  if (log.kind === 'kafka') {
    const answers = [await connect(log.kafka, io), log.state === undefined || (await connectPostgres(log.state.postgres, io))];
    return answers.every(Boolean) ? exitCodes.done : exitCodes.failed;
  }
  io.out('no brokers to connect to: the journals live in the embedded log\n');
  return exitCodes.done;
}

/** Warnings are about what would have no effect: a server starts with such a file. */
function validateDynamic(file: string, io: Io): ExitCode {
  const { entries, problems } = readDynamicConfig(readText(file));
  io.err(renderProblems(file, problems));
  if (entries === undefined) return exitCodes.usage;
  io.out(`${file}: ok\n`);
  return exitCodes.done;
}

async function connectPostgres(postgres: PostgresOptions, io: Io): Promise<boolean> {
  const { tryPostgres } = await io.loadServer();
  const probe = await tryPostgres(postgres);
  if (probe.answer === 'ok') io.out(`${probe.database}: ok\n`);
  else io.err(`${probe.reason}\n`);
  return probe.answer === 'ok';
}

async function connect(kafka: KafkaOptions, io: Io): Promise<boolean> {
  const { tryBrokers } = await io.loadServer();
  const probes = await tryBrokers(kafka);
  for (const probe of probes) {
    if (probe.answer === 'ok') io.out(`${described(probe)}\n`);
    else io.err(`${described(probe)}\n`);
  }
  return probes.every(({ answer }) => answer === 'ok');
}

function described(probe: BrokerProbe): string {
  if (probe.answer === 'failed') return `${probe.broker}: ${probe.reason}`;
  const { length } = probe.advertised;
  return `${probe.broker}: ok, a cluster of ${length} broker${length === 1 ? '' : 's'}: ${probe.advertised.join(', ')}`;
}
