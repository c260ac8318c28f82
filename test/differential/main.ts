/**
 * The same random calls against Perdure and against Temporal, and where a user could tell them apart.
 *
 *     node test/differential/main.ts --ours 127.0.0.1:7233 --theirs 127.0.0.1:7234 --seed 1 --programs 100
 *     node test/differential/main.ts --start /path/to/temporal --seed 1 --programs 100
 *
 * `--family a,b` draws only from those, `--users 8` programs run side by side, `--seconds 400` stops after so long, `--one 17` runs one seed and prints its steps,
 * `--rules` says what each rule of known-differences.ts has hidden. Of a program that differs, the steps are shown without which it would not.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../bench/server-process.ts';
import { HttpTarget } from '../outbound/http-target.ts';
import { Api } from './api.ts';
import { type Difference, differences } from './compare.ts';
import { programOf } from './families/families.ts';
import { Judge } from './known-differences.ts';
import type { Program, Step } from './program.ts';
import type { Seen } from './run-program.ts';
import { runProgram } from './run-program.ts';
import { shrunk } from './shrink.ts';

const { values } = parseArgs({
  options: {
    ours: { type: 'string' },
    theirs: { type: 'string' },
    start: { type: 'string' },
    seed: { type: 'string', default: '1' },
    programs: { type: 'string', default: '50' },
    users: { type: 'string', default: '6' },
    family: { type: 'string', default: '' },
    seconds: { type: 'string', default: '86400' },
    one: { type: 'string' },
    rules: { type: 'boolean', default: false },
  },
});

type Finding = { readonly signature: string; readonly line: string; readonly program: Program; readonly step: number };

const CONFIRMATIONS = 2;

const nothing: Seen = { what: '', request: {}, step: 0, value: undefined };

const ANYWHERE = `'callback.allowedAddresses=${JSON.stringify([{ Pattern: '127.0.0.1:*', AllowInsecure: true, AllowPrivate: true }])}'`;
const PERDURE = `bin/perdure server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error --dynamic-config-value ${ANYWHERE}`;
/** Rates that many programs side by side would meet, and what is off by default there. */
const SETTINGS = [
  'history.transferProcessorMaxPollRPS=1000',
  'history.timerProcessorMaxPollRPS=1000',
  'history.visibilityProcessorMaxPollRPS=1000',
  'frontend.namespaceRPS.visibility=100000',
  'frontend.MaxConcurrentBatchOperationPerNamespace=1000',
  'frontend.WorkflowPauseEnabled=true',
  'history.enableUpdateCallbacks=true',
  ANYWHERE,
  'frontend.rps.namespaceReplicationInducingAPIs=1000',
  'frontend.namespaceRPS.namespaceReplicationInducingAPIs=1000',
  // Tasks of one queue come in their order.
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];
const WITH_SETTINGS = SETTINGS.map((setting) => `--dynamic-config-value ${setting}`).join(' ');

const judge = new Judge();
const servers: ServerProcess[] = [];
const callbacks = await HttpTarget.open();
try {
  await compareServers();
} finally {
  await callbacks.close();
  await Promise.all(servers.map((server) => server.stop()));
}

async function compareServers(): Promise<void> {
  const ours = new Api(await address(values.ours, PERDURE));
  const theirs = new Api(
    await address(values.theirs, `${values.start} server start-dev --headless --port {port} --log-level never ${WITH_SETTINGS}`),
  );
  await Promise.all([prepare(ours), prepare(theirs)]);
  const only = values.family === '' ? [] : values.family.split(',');
  const first = Number(values.one ?? values.seed);
  const last = values.one === undefined ? first + Number(values.programs) - 1 : first;
  const until = performance.now() + Number(values.seconds) * 1_000;
  const known = new Set<string>();
  const programs = new Map<string, number>();
  let next = first;
  const user = async (): Promise<void> => {
    while (next <= last && performance.now() < until) {
      const program = programOf(next++, only);
      programs.set(program.family, (programs.get(program.family) ?? 0) + 1);
      const found = await confirmed(ours, theirs, program);
      for (const finding of found.filter(({ signature }) => !known.has(signature))) {
        known.add(finding.signature);
        report(values.one === undefined ? await inShort(ours, theirs, finding) : finding);
      }
    }
  };
  await Promise.all(Array.from({ length: values.one === undefined ? Number(values.users) : 1 }, user));
  console.log([...programs].map(([family, count]) => `${family} ${count}`).join(', '));
  if (values.rules) for (const line of judge.hidden) console.log(line);
  console.log(`${next - first} programs, ${known.size} distinct differences; the next seed is ${next}`);
  ours.close();
  theirs.close();
}

async function address(given: string | undefined, command: string): Promise<string> {
  if (given !== undefined) return given;
  if (values.start === undefined) throw new Error('give --ours and --theirs, or --start with the path of a temporal binary');
  const server = await ServerProcess.start(command);
  servers.push(server);
  return server.address;
}

/** Until search attributes that were just added can be used. */
async function prepare(api: Api): Promise<void> {
  const searchAttributes = { DiffKeyword: 'INDEXED_VALUE_TYPE_KEYWORD', DiffInt: 'INDEXED_VALUE_TYPE_INT' };
  for (let attempt = 0; attempt < 60; attempt++) {
    await api.call('AddSearchAttributes', { namespace: 'default', searchAttributes });
    const { response } = await api.call('ListSearchAttributes', { namespace: 'default' });
    if (Object.hasOwn((response?.['customAttributes'] ?? {}) as object, 'DiffKeyword')) return;
    await delay(250);
  }
  throw new Error('the search attributes do not appear');
}

/** A difference counts when it comes each time: a busy machine makes some of its own. */
async function confirmed(ours: Api, theirs: Api, program: Program): Promise<readonly Finding[]> {
  let found = await compared(ours, theirs, program, values.one !== undefined);
  for (let again = 0; again < CONFIRMATIONS && found.length > 0; again++) {
    const signatures = new Set((await compared(ours, theirs, program)).map(({ signature }) => signature));
    found = found.filter(({ signature }) => signatures.has(signature));
  }
  return found;
}

/** The same finding with as few steps as show it. */
async function inShort(ours: Api, theirs: Api, finding: Finding): Promise<Finding> {
  let shortest = finding;
  await shrunk(finding.program.steps, async (steps: readonly Step[]) => {
    const found = await compared(ours, theirs, { ...finding.program, steps });
    const same = found.find(({ signature }) => signature === finding.signature);
    shortest = same ?? shortest;
    return same !== undefined;
  });
  return shortest;
}

async function compared(ours: Api, theirs: Api, program: Program, isShown = false): Promise<readonly Finding[]> {
  const nonce = `diff-${Math.random().toString(36).slice(2, 10).padEnd(8, '0')}`;
  const run = (api: Api): Promise<readonly Seen[]> => runProgram(api, program, nonce, callbacks.url(`/${nonce}`));
  const [mine, other] = await Promise.all([run(ours), run(theirs)]);
  if (isShown) print(program, mine, other);
  const count = Math.max(mine.length, other.length);
  for (let index = 0; index < count; index++) {
    const { what, request, step } = mine[index] ?? other[index] ?? nothing;
    const asked = { what, request, before: program.steps.slice(0, step + 1) };
    const { reported, ends } = judge.judged(asked, differences(mine[index]?.value, other[index]?.value));
    // Whatever differs later follows, as a rule, from what differed first.
    if (reported.length > 0 || ends) return reported.map((difference) => finding(what, difference, program, step));
  }
  return [];
}

function finding(what: string, { path, ours, theirs }: Difference, program: Program, step: number): Finding {
  const line = `${what} ${path}\n    ours   ${short(ours)}\n    theirs ${short(theirs)}`;
  return { signature: line.replaceAll(/\([0-9a-f]{8}\)|\d+/g, '#'), line, program, step };
}

function report({ line, program, step }: Finding): void {
  console.log(`\n[${program.family} seed ${program.seed} step ${step}] ${line}`);
  for (const [index, done] of program.steps.slice(0, step + 1).entries()) {
    const text = JSON.stringify(done)
      .replaceAll(/\{"metadata":\{"encoding":"[^"]*"\},"data":"([^"]*)"\}/g, '<$1>')
      .replaceAll('"', '');
    console.log(
      `      ${index}: ${text
        .replace('{op:call,method:', '')
        .replaceAll(/x{20,}/g, 'x…x')
        .slice(0, index === step ? 1_200 : 200)}`,
    );
  }
}

function print(program: Program, ours: readonly Seen[], theirs: readonly Seen[]): void {
  for (const [index, step] of program.steps.entries()) console.log(index, JSON.stringify(step));
  for (const [index, seen] of ours.entries()) {
    console.log(`\n${seen.step} ${seen.what}\n  ours   ${JSON.stringify(seen.value)}\n  theirs ${JSON.stringify(theirs[index]?.value)}`);
  }
}

function short(value: unknown, length = 300): string {
  const text = (JSON.stringify(value) ?? 'undefined').replaceAll(/x{20,}/g, 'x…x');
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
