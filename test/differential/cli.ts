/**
 * The same commands of the Temporal CLI against Perdure and against Temporal's dev server, and what a person or a script would see differ: both
 * streams and the exit code, after masking run ids, times and addresses.
 *
 *     node test/differential/cli.ts --start /path/to/temporal
 *     node test/differential/cli.ts --start /path/to/temporal --show      prints what ours answered as well
 *     node test/differential/cli.ts --start /path/to/temporal --only schedules,batches
 */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../bench/server-process.ts';
import { commandGroups } from './cli-commands.ts';
import { CliWorker } from './cli-worker.ts';
import { CliJudge } from './known-cli-differences.ts';

const { values } = parseArgs({
  options: { start: { type: 'string' }, show: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
if (values.start === undefined) throw new Error('give --start with the path of a temporal binary');
const cli: string = values.start;

const perdure = 'bin/perdure server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error';
const theirs = `${cli} server start-dev --headless --port {port} --log-level never --dynamic-config-value frontend.WorkflowPauseEnabled=true`;

/** Of a run without a timeout Temporal says that it expires then. */
const noTime = '0001-01-01T00:00:00Z';

/** Temporal may take half a minute to delete what has just been closed. */
const ATTEMPTS_MAX = 60;

/** Explained in docs/differences.md, or the servers' own. */
const leftOut =
  /^(taskId|mostRecentWorkerVersionStamp|workerVersion|binaryChecksum|sdkMetadata|autoResetPoints|BuildIds|historySizeBytes|stateTransitionCount|durationMillis|executionDuration|taskToken|conflictToken|ownerHostName|requestId|capabilities|workflowTaskCompletionSizeLimitError)$/;

const only = values.only === '' ? Object.keys(commandGroups) : values.only.split(',');
const commands = only.flatMap((group) => commandGroups[group] ?? []);
const servers = [await ServerProcess.start(perdure), await ServerProcess.start(theirs)] as const;
const workers = await Promise.all(servers.map(({ address }) => CliWorker.start(address)));
const judge = new CliJudge();
let differing = 0;
try {
  for (const command of commands) {
    const [ours, other] = await said(command);
    if (values.show) console.log(`\n$ temporal ${command.join(' ')}\n${ours}`);
    if (ours === other) continue;
    if (judge.isExplained(lineOf(command), ours, other)) {
      console.log(`explained: temporal ${lineOf(command)}`);
      continue;
    }
    differing += 1;
    console.log(`\n$ temporal ${command.join(' ')}\n--- ours\n${ours}\n--- theirs\n${other}`);
  }
} finally {
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(servers.map((server) => server.stop()));
}
const outdated = judge.outdated(commands.map(lineOf));
for (const { command, row } of outdated) console.log(`explains nothing any more: temporal ${command}: ${row}`);
console.log(`${differing} of ${commands.length} outputs differ, ${outdated.length} explanations are outdated`);
process.exitCode = differing + outdated.length === 0 ? 0 : 1;

function lineOf(command: readonly string[]): string {
  return command.filter((word) => word !== '~').join(' ');
}

/** Of both servers. What Temporal shows a little later is waited for. */
async function said([first = '', ...rest]: readonly string[]): Promise<readonly [string, string]> {
  const isLater = first === '~';
  for (let attempt = 1; ; attempt++) {
    const [ours, other] = await Promise.all([ask(servers[0].address), ask(servers[1].address)]);
    if (ours === other || !isLater || attempt === ATTEMPTS_MAX || judge.isExplained(lineOf(rest), ours, other)) return [ours, other];
    await delay(1_000);
  }

  function ask(address: string): Promise<string> {
    return once(address, isLater ? rest : [first, ...rest]);
  }
}

/** A command that asks something back is answered with an end of input. */
function once(address: string, command: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(cli, [...command, '--address', address, '--color', 'never'], { timeout: 30_000 }, (error, out, err) => {
      const text = masked(`exit ${error === null ? 0 : String(error.code)}\n${out}${err}`, address);
      resolve(isUnordered(command) ? text.split('\n').toSorted().join('\n') : text);
    });
    child.stdin?.end();
  });
}

/** Temporal's types of a task queue come as its maps have them. */
function isUnordered([first, second]: readonly string[]): boolean {
  return first === 'task-queue' && second === 'describe';
}

/** Of JSON the values alone: what is empty, zero or in `leftOut` says nothing. */
function masked(text: string, address: string): string {
  const [first = '', ...rest] = text.split('\n');
  const body = rest.join('\n');
  const json = plainJson(body);
  return maskedText(`${first}\n${json ?? body}`, address);
}

function plainJson(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return JSON.stringify(meaningful(value), null, 1);
}

function meaningful(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meaningful);
  if (typeof value !== 'object' || value === null) return value === '0s' || value === noTime || value === null ? undefined : value;
  const entries = Object.entries(value)
    .filter(([name]) => !leftOut.test(name))
    .map(([name, item]) => [name, meaningful(item)] as const)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function maskedText(text: string, address: string): string {
  return (
    text
      .replaceAll(address, '<address>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/(cli-worker)-[0-9a-f]{32}/g, '$1-<sticky>')
      .replaceAll(/\b(\d+ (seconds?|minutes?) ago|now|\d+ (milli|micro)?seconds?( from now)?)\b/g, '<ago>')
      .replaceAll(/time=\S+/g, 'time=<time>')
      .replaceAll(/^( *(?:StateTransitionCount|HistorySize|RunTime) +)\S+/gm, '$1<size>')
      .replaceAll(/BuildIds:(?:metadata:\{[^}]*\} +)+data:"(?:\\.|[^"\\])*" ?/g, '')
      .replaceAll(/^ *SearchAttributes +map\[\]\n/gm, '')
      .replaceAll(/^ *"?(taskId|requestId|workerVersion\S*|binaryChecksum|sdkMetadata\S*|historySizeBytes)"?: .*\n/gm, '')
      .replaceAll(/^( *(?:\/_sys\/)?cli(?:\/\d)? +)[\w.-]+:\d+ *$/gm, '$1<host>')
      // Since a heartbeat.
      .replaceAll(/\b(\d+m)?\d+\.\d{4,}s\b/g, '<ago>')
      // Rates of the last seconds.
      .replaceAll(/\b0\.\d{4,}\b/g, '0')
      .replaceAll(/^ *\S+: 0s\n/gm, '')
      .replaceAll(/ +$/gm, '')
      .replaceAll(/ {2,}/g, '  ')
  );
}
