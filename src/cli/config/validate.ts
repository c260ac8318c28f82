import { readDynamicConfig } from '../../config/dynamic-config-yaml.ts';
import { problemJson, renderProblems, type Problem } from '../../config/problem.ts';
import type { Tried } from '../../config/server-options.ts';
import type { ServerSettings } from '../../config/settings.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import type { Io } from '../io.ts';
import { printOne } from '../printed-list.ts';
import { readServerFile, readText } from '../server-file.ts';

type Validated = {
  readonly file: string;
  readonly problems: readonly Problem[];
  readonly isValid: boolean;
  readonly tried: readonly Tried[];
};

export async function runValidate(invocation: Invocation): Promise<ExitCode> {
  const { flags, args, io } = invocation;
  const [file = ''] = args;
  if (flags.switched('dynamic') === true) {
    // Warnings are about entries without effect; a server starts with such a file.
    const { entries, problems } = readDynamicConfig(readText(file));
    return told({ file, problems, isValid: entries !== undefined, tried: [] }, invocation);
  }
  const { settings, problems } = readServerFile(file, io, { strict: true, autoCreateTopics: true });
  const tried = settings === undefined || flags.switched('connect') !== true ? [] : await connections(settings.server, io);
  return told({ file, problems, isValid: settings !== undefined, tried }, invocation);
}

function told({ file, problems, isValid, tried }: Validated, invocation: Invocation): ExitCode {
  const connects = tried.every(({ ok }) => ok);
  const json = { file, ok: isValid && connects, problems: problems.map((problem) => problemJson(file, problem)), connections: tried };
  printOne(invocation, json, () =>
    [...(isValid ? [`${file}: ok`] : []), ...tried.filter(({ ok }) => ok).map(lineOf)].map((text) => `${text}\n`).join(''),
  );
  if (invocation.format === 'text')
    invocation.io.err(
      renderProblems(file, problems) +
        tried
          .filter(({ ok }) => !ok)
          .map((each) => `${lineOf(each)}\n`)
          .join(''),
    );
  if (!isValid) return exitCodes.usage;
  return connects ? exitCodes.done : exitCodes.failed;
}

function lineOf({ subject, message }: Tried): string {
  return subject === '' ? message : `${subject}: ${message}`;
}

async function connections(server: ServerSettings, io: Io): Promise<readonly Tried[]> {
  const { log } = server;
  if (log.kind !== 'kafka') return [{ subject: '', ok: true, message: 'no brokers to connect to: the journals are in the embedded log' }];
  const { tryStart } = await io.loadServer();
  return await tryStart(log, server);
}
