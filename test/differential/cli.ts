/**
 * The same commands of the Temporal CLI against Perdure and against Temporal's dev server, and what a person or a script would see differ: both
 * streams and the exit code, after masking run ids, times and addresses.
 *
 *     node test/differential/cli.ts --start /path/to/temporal
 *     node test/differential/cli.ts --start /path/to/temporal --show      prints what ours answered as well
 */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../bench/server-process.ts';

const { values } = parseArgs({ options: { start: { type: 'string' }, show: { type: 'boolean', default: false } } });
if (values.start === undefined) throw new Error('give --start with the path of a temporal binary');
const cli: string = values.start;

const perdure = 'bin/perdure server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error';
const theirs = `${cli} server start-dev --headless --port {port} --log-level never`;

const start = 'workflow start --task-queue q --type';
const failed = `ExecutionStatus = 'Terminated'`;

const ATTEMPTS_MAX = 20;

/** One after the other; `~` in front: what was done before may be shown later. */
const commands: readonly (readonly string[])[] = [
  'operator search-attribute list'.split(' '),
  ...['Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'].map((type) =>
    `operator search-attribute create --name Cli${type} --type ${type}`.split(' '),
  ),
  'operator search-attribute create --name CliKeyword --type Keyword'.split(' '),
  'operator search-attribute create --name CliKeyword --type Int'.split(' '),
  'operator search-attribute create --name WorkflowId --type Keyword'.split(' '),
  'operator search-attribute list -o json'.split(' '),
  `${start} Order --workflow-id order-1 --search-attribute CliKeyword="red" --search-attribute CliInt=5 --memo note="first"`.split(' '),
  `${start} Order --workflow-id order-2 --search-attribute CliKeyword="blue" --search-attribute CliBool=true`.split(' '),
  `${start} Refund --workflow-id refund-1 --search-attribute CliKeywordList=["a","b"] --search-attribute CliDouble=1.5`.split(' '),
  `${start} Order --workflow-id order-1 -o json`.split(' '),
  'workflow terminate --workflow-id order-2 --reason done'.split(' '),
  '~ workflow list'.split(' '),
  ['~', 'workflow', 'list', '--query', `WorkflowType = 'Order'`],
  ['~', 'workflow', 'list', '--query', `CliKeyword = 'red' OR CliInt > 7`, '-o', 'json'],
  ['workflow', 'list', '--query', failed, '--fields', 'long'],
  ['workflow', 'list', '--query', failed, '-o', 'jsonl'],
  ['workflow', 'list', '--limit', '1'],
  ['workflow', 'list', '--query', `Nothing = 'x'`],
  ['workflow', 'list', '--query', `CliInt = 'x'`],
  ['workflow', 'list', '--query', `WorkflowId = `],
  ['workflow', 'list', '--query', `WorkflowId = 'a' ORDER BY StartTime`],
  ['workflow', 'list', '--archived'],
  'workflow count'.split(' '),
  ['workflow', 'count', '--query', failed],
  ['workflow', 'count', '--query', 'GROUP BY ExecutionStatus'],
  ['workflow', 'count', '--query', 'GROUP BY ExecutionStatus', '-o', 'json'],
  ['workflow', 'count', '--query', 'GROUP BY WorkflowType'],
  'workflow delete --yes --workflow-id order-2'.split(' '),
  'workflow delete --yes --workflow-id nobody'.split(' '),
  'workflow delete --yes --workflow-id refund-1'.split(' '),
  '~ workflow list'.split(' '),
  '~ workflow count'.split(' '),
  'operator search-attribute remove --name CliText --yes'.split(' '),
  'operator search-attribute remove --name CliText --yes'.split(' '),
  'operator search-attribute remove --name Never --yes'.split(' '),
  'operator search-attribute remove --name WorkflowId --yes'.split(' '),
  'operator search-attribute list'.split(' '),
];

const servers = [await ServerProcess.start(perdure), await ServerProcess.start(theirs)] as const;
let differing = 0;
try {
  for (const command of commands) {
    const [ours, other] = await said(command);
    if (values.show) console.log(`\n$ temporal ${command.join(' ')}\n${ours}`);
    if (ours === other) continue;
    differing += 1;
    console.log(`\n$ temporal ${command.join(' ')}\n--- ours\n${ours}\n--- theirs\n${other}`);
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
}
console.log(`${differing} of ${commands.length} outputs differ`);
process.exitCode = differing === 0 ? 0 : 1;

/** Of both servers. What Temporal shows a little later is waited for. */
async function said([first = '', ...rest]: readonly string[]): Promise<readonly [string, string]> {
  const isLater = first === '~';
  for (let attempt = 1; ; attempt++) {
    const [ours, other] = await Promise.all([ask(servers[0].address), ask(servers[1].address)]);
    if (ours === other || !isLater || attempt === ATTEMPTS_MAX) return [ours, other];
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
      resolve(masked(`exit ${error === null ? 0 : String(error.code)}\n${out}${err}`, address));
    });
    child.stdin?.end();
  });
}

function masked(text: string, address: string): string {
  return (
    text
      .replaceAll(address, '<address>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<run>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/\b(\d+ (seconds?|minutes?) ago|now)\b/g, '<ago>')
      .replaceAll(/time=\S+/g, 'time=<time>')
      // Counted in each server's own events; the time between two of its own.
      .replaceAll(/("historySizeBytes": ?)"\d+"/g, '$1"<size>"')
      .replaceAll(/("executionDuration": ?)"[\d.]+s"/g, '$1"<time>"')
      .replaceAll(/ +$/gm, '')
      .replaceAll(/ {2,}/g, '  ')
  );
}
