/**
 * The same random calls against Perdure and against Temporal, and where a user could tell them apart.
 *
 *     node test/differential/main.ts --ours 127.0.0.1:7233 --theirs 127.0.0.1:7234 --seed 1 --programs 100
 *     node test/differential/main.ts --start /path/to/temporal --seed 1 --programs 100
 *
 * `--family a,b` draws only from those, `--users 8` programs run side by side, `--seconds 400` stops after so long, `--one 17` runs one seed and prints its steps,
 * `--rules` says what each rule of known-differences.ts has hidden. Of a program that differs, the steps are shown without which it would not.
 * `--record 5` writes down what Temporal showed of five programs of each family, for recorded.test.ts.
 */
import { parseArgs } from 'node:util';
import { ServerProcess } from '../bench/server-process.ts';
import { HttpTarget } from '../outbound/http-target.ts';
import { Api } from './api.ts';
import { familyNames, programOf } from './families/families.ts';
import { type Finding, findings } from './findings.ts';
import { Judge } from './known-differences.ts';
import { callbackAddresses, prepare, programAttributes } from './prepare.ts';
import type { Program, Step } from './program.ts';
import { type Recorded, writeRecorded } from './recorded-programs.ts';
import type { Seen } from './run-program.ts';
import { newNonce, runProgram } from './run-program.ts';
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
    record: { type: 'string' },
  },
});

const CONFIRMATIONS = 2;
/** Longer than any time of a program that runs out before it ends. */
const SLOW_MS = 700;

const ANYWHERE = `'callback.allowedAddresses=${JSON.stringify(callbackAddresses)}'`;
const PERDURE = `bin/perdure server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error --dynamic-config-value ${ANYWHERE} --dynamic-config-value frontend.MaxConcurrentBatchOperationPerNamespace=1000`;
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
  await Promise.all([ours, theirs].map((api) => prepare(api, programAttributes)));
  if (values.record === undefined) await compareSeeds(ours, theirs);
  else await record(ours, theirs, Number(values.record));
  ours.close();
  theirs.close();
}

async function compareSeeds(ours: Api, theirs: Api): Promise<void> {
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
}

async function address(given: string | undefined, command: string): Promise<string> {
  if (given !== undefined) return given;
  if (values.start === undefined) throw new Error('give --ours and --theirs, or --start with the path of a temporal binary');
  const server = await ServerProcess.start(command);
  servers.push(server);
  return server.address;
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
  const [mine, other] = await bothRun(ours, theirs, program);
  if (isShown) print(program, mine, other);
  return findings(judge, program, mine, other);
}

async function bothRun(ours: Api, theirs: Api, program: Program, oursPauseMs = 0): Promise<readonly [readonly Seen[], readonly Seen[]]> {
  const nonce = newNonce();
  const run = (api: Api, pauseMs: number): Promise<readonly Seen[]> => runProgram(api, program, nonce, callbacks.url(`/${nonce}`), pauseMs);
  return await Promise.all([run(ours, oursPauseMs), run(theirs, 0)]);
}

/** Of programs that show the same on both servers, to a slow client too: what chance or speed has a say in is nothing to hold a server to. */
async function record(ours: Api, theirs: Api, each: number): Promise<void> {
  const recorded: Recorded[] = [];
  const wanted = familyNames.map((family) => ({ family, left: each, seed: Number(values.seed) }));
  const until = performance.now() + Number(values.seconds) * 1_000;
  const user = async (): Promise<void> => {
    for (let next = wanted.shift(); next !== undefined && performance.now() < until; next = wanted.shift()) {
      const program = programOf(next.seed++, [next.family]);
      const [slow, seen] = await bothRun(ours, theirs, program, SLOW_MS);
      const isSame = findings(judge, program, slow, seen).length === 0 && (await compared(ours, theirs, program)).length === 0;
      if (isSame) recorded.push({ program, seen });
      if (isSame) next.left--;
      if (next.left > 0) wanted.push(next);
    }
  };
  await Promise.all(Array.from({ length: Number(values.users) }, user));
  const place = ({ program }: Recorded): number => familyNames.indexOf(program.family) * 1e6 + program.seed;
  writeRecorded(recorded.toSorted((a, b) => place(a) - place(b)));
  console.log(`${recorded.length} programs are recorded`);
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
