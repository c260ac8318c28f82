import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { perdureContenders, started, temporalContenders } from './contenders.ts';
import type { Contender, Field } from './contenders.ts';
import { medians } from './figures.ts';
import type { Figure } from './figures.ts';
import type { Pace } from './pace.ts';
import { concluded, pairedRow, pairsOf } from './pairs.ts';
import { signalRound, timerRound } from './scenario-latency.ts';
import { deadLettersRound } from './scenario-dead-letters.ts';
import { listRound } from './scenario-list.ts';
import { rawRound } from './scenario-raw.ts';
import { resetRound } from './scenario-reset.ts';
import { sdkRound } from './scenario-sdk.ts';
import { closedRound, scaleRound } from './scenario-scale.ts';
import { schedulesRound } from './scenario-schedules.ts';
import { signalWithStartRound } from './scenario-signal-with-start.ts';
import { startRound } from './scenario-start.ts';
import { updateRound } from './scenario-update.ts';
import { visibilityRound } from './scenario-visibility.ts';
import { ServerProcess } from './server-process.ts';
import type { Target } from './target.ts';

const usage = `Measures a server that speaks Temporal's API: one activity a workflow.

  npm run bench                                                  our server in memory
  npm run bench -- --perdure memory,file,kafka --temporal PATH   everything, beside Temporal's dev server at PATH
  npm run bench -- --address 127.0.0.1:7233 --pid 4711           a server that is running

  --perdure  memory, file, kafka: our server on these logs; Kafka's broker is started (or KAFKA_BROKERS is used)
             postgres: on Kafka, with its state in a PostgreSQL that is started
  --temporal path of the "temporal" program; --temporal-modes memory,raised,file says how (default: memory,raised)
  --server   any other command, {port} being a free port and {folder} an empty folder; "name=command" names it
  --address  a server that is running; with --pid its process (several: broker, database) for the CPU figures,
             which without it are not measured
             Several servers are measured alternately, round by round, and compared with the last one.
  --scenario raw, one, sdk, signal, update, timer, signal-with-start, list, reset, start; several with commas; default: all (start needs a command)
             scale, named alone: a server in which --open workflows wait, what they cost and how soon it is back after SIGKILL
             dead-letters, named: --letters of them come, are listed, merged and purged, and workflows beside them; our server in memory or on a file
             schedules, named: --schedules of them act each minute, wait, and are due at once
             visibility, named alone: List and Count where --rows workflows are shown, in --databases sqlite,postgres, without a server
  --open 200000  --wakes 1000  (workflows; signals a second)
  --letters 10000              (dead-letters)
  --schedules 10000            (schedules)
  --closed 3000000             (scale, instead of open ones: workflows that have ended)
  --pairs 24 two servers with commands, at once and in turns, --window seconds each time (2 is enough), both started anew --rounds times: first by
             second, with 90 % of a bootstrap; how two versions are compared on a machine that does other work
  --users 16  --warm-up 3  --window 10  --rounds 3  (seconds)  --namespace default  --json FILE (or - for the output)
`;

type Scenario = { readonly name: string; readonly round: (target: Target, pace: Pace, users: number) => Promise<readonly Figure[]> };

const scenarios: readonly Scenario[] = [
  { name: 'raw', round: (target, pace, users) => rawRound(target, users, pace) },
  { name: 'one', round: (target, pace) => rawRound(target, 1, pace) },
  { name: 'sdk', round: (target, pace, users) => sdkRound(target, users, pace) },
  { name: 'signal', round: (target, pace) => signalRound(target, pace) },
  { name: 'update', round: (target, pace) => updateRound(target, pace) },
  { name: 'timer', round: (target, pace) => timerRound(target, pace) },
  { name: 'signal-with-start', round: (target, pace) => signalWithStartRound(target, pace) },
  { name: 'list', round: (target, pace, users) => listRound(target, users, pace) },
  { name: 'reset', round: (target, pace) => resetRound(target, pace) },
];

const { values } = parseArgs({
  options: {
    perdure: { type: 'string' },
    temporal: { type: 'string' },
    'temporal-modes': { type: 'string', default: 'memory,raised' },
    server: { type: 'string', multiple: true },
    address: { type: 'string' },
    pid: { type: 'string', multiple: true },
    scenario: { type: 'string' },
    open: { type: 'string', default: '200000' },
    wakes: { type: 'string', default: '1000' },
    closed: { type: 'string', default: '0' },
    letters: { type: 'string', default: '10000' },
    schedules: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '100000' },
    databases: { type: 'string', default: 'sqlite,postgres' },
    users: { type: 'string', default: '16' },
    'warm-up': { type: 'string', default: '3' },
    window: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    pairs: { type: 'string' },
    namespace: { type: 'string', default: 'default' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(usage);
  process.exit(0);
}
const field = values.scenario === 'visibility' ? { contenders: [], close: async () => {} } : await fieldOf();
const { contenders } = field;
try {
  if (values.pairs !== undefined) await measurePairs(Number(values.pairs));
  const results =
    values.pairs !== undefined
      ? new Map<string, readonly Figure[]>()
      : values.scenario === 'visibility'
        ? await measureVisibility()
        : await measureAll();
  if (values.json !== '-' && values.pairs === undefined) printTable(results);
  if (values.json !== undefined) printJson(results, values.json);
} finally {
  await field.close();
}

async function measureVisibility(): Promise<ReadonlyMap<string, readonly Figure[]>> {
  const results = new Map<string, readonly Figure[]>();
  for (const database of values.databases.split(',')) results.set(database, await visibilityRound(database, Number(values.rows)));
  return results;
}

async function fieldOf(): Promise<Field> {
  const pids = (values.pid ?? []).map(Number);
  const others = (values.server ?? []).map((server, i) => {
    const named = /^([\w .()-]{1,40})=(.+)$/s.exec(server);
    return started(named?.[1] ?? `server ${i + 1}`, named?.[2] ?? server, pids);
  });
  if (values.address !== undefined) others.push({ name: values.address, command: undefined, address: values.address, pids });
  const ours = values.perdure ?? (others.length === 0 && values.temporal === undefined ? 'memory' : '');
  const { contenders, close } = await perdureContenders(ours.split(',').filter((log) => log !== ''));
  const temporal = values.temporal === undefined ? [] : temporalContenders(values.temporal, values['temporal-modes'].split(','));
  return { contenders: [...contenders, ...others, ...temporal], close };
}

/** Rounds alternate between the servers: whatever the machine does meanwhile, it does to all of them. */
async function measureAll(): Promise<ReadonlyMap<string, readonly Figure[]>> {
  const pace = { warmUpMs: Number(values['warm-up']) * 1000, windowMs: Number(values.window) * 1000, rounds: Number(values.rounds) };
  const wanted = values.scenario?.split(',');
  const figures = new Map<string, Figure[]>(contenders.map(({ name }) => [name, []]));
  const keep = (rounds: ReadonlyMap<string, readonly (readonly Figure[])[]>): void => {
    for (const [name, measured] of rounds) figures.get(name)?.push(...medians(measured));
  };
  if (wanted?.includes('start') ?? true) keep(await alternate('start', pace.rounds, startUp));
  if (wanted?.includes('scale') === true) {
    const scale = { openWorkflows: Number(values.open), wakesPerSecond: Number(values.wakes), closedWorkflows: Number(values.closed) };
    const round = scale.closedWorkflows > 0 ? closedRound : scaleRound;
    const run = ({ command }: Contender): Promise<readonly Figure[]> =>
      command === undefined ? Promise.resolve([]) : round(command, values.namespace, pace, scale);
    keep(await alternate('scale', pace.rounds, run));
  }
  if (wanted?.includes('dead-letters') === true) {
    const { namespace, users, letters } = values;
    const run = ({ name, command }: Contender): Promise<readonly Figure[]> =>
      command === undefined ? Promise.resolve([]) : deadLettersRound(command, { name, namespace }, Number(users), pace, Number(letters));
    keep(await alternate('dead-letters', pace.rounds, run));
  }
  if (wanted?.includes('schedules') === true) {
    const run = (target: Target): Promise<readonly Figure[]> => schedulesRound(target, pace, Number(values.schedules));
    keep(await alternate('schedules', pace.rounds, (contender) => onServer(contender, run)));
  }
  for (const scenario of scenarios) {
    if (!(wanted?.includes(scenario.name) ?? true)) continue;
    const run = (target: Target): Promise<readonly Figure[]> => scenario.round(target, pace, Number(values.users));
    keep(await alternate(scenario.name, pace.rounds, (contender) => onServer(contender, run)));
  }
  return figures;
}

async function measurePairs(pairs: number): Promise<void> {
  const [first, second, ...more] = contenders;
  if (first?.command === undefined || second?.command === undefined || more.length > 0)
    throw new Error('--pairs takes two servers with commands');
  const wanted = values.scenario?.split(',');
  console.log(`${''.padEnd(60)}${first.name.padStart(9)}${second.name.padStart(9)}`);
  for (const scenario of scenarios.filter(({ name }) => wanted?.includes(name) ?? true)) {
    const rounds: Awaited<ReturnType<typeof pairsOf>>[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      rounds.push(await roundOfPairs([first, second], Math.ceil(pairs / Number(values.rounds)), scenario));
      console.error(`${scenario.name} ${round + 1}/${values.rounds}`);
    }
    for (const figure of concluded(rounds)) console.log(pairedRow(figure));
  }
}

async function roundOfPairs(both: readonly [Contender, Contender], pairs: number, scenario: Scenario) {
  const servers = [await ServerProcess.start(both[0].command ?? ''), await ServerProcess.start(both[1].command ?? '')] as const;
  try {
    const measure = (which: 0 | 1, windowMs: number): Promise<readonly Figure[]> => {
      const { name, pids } = both[which];
      const { address, pid, loopDelayFile } = servers[which];
      const target = { name, address, namespace: values.namespace, pids: [pid, ...pids], loopDelayFile };
      return scenario.round(target, { warmUpMs: 500, windowMs, rounds: 1 }, Number(values.users));
    };
    for (const which of [0, 1] as const) await measure(which, Number(values['warm-up']) * 1000);
    return await pairsOf(pairs, (which) => measure(which, Number(values.window) * 1000));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

type Rounds = Map<string, (readonly Figure[])[]>;

async function alternate(label: string, rounds: number, measure: (contender: Contender) => Promise<readonly Figure[]>): Promise<Rounds> {
  const measured: Rounds = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const figures = await measure(contender);
      measured.get(contender.name)?.push(figures);
      const [first] = figures;
      if (first !== undefined) console.error(`${label} ${round}/${rounds} ${contender.name}: ${first.name} ${shown(first)}`);
    }
  }
  return measured;
}

async function startUp({ command }: Contender): Promise<readonly Figure[]> {
  return command === undefined ? [] : startRound(command, values.namespace);
}

/** A fresh server for every round: none is measured with the other's backlog or with what its own last round left behind. */
async function onServer(contender: Contender, run: (target: Target) => Promise<readonly Figure[]>): Promise<readonly Figure[]> {
  const { namespace } = values;
  const { name, command, address, pids } = contender;
  if (command === undefined) return run({ name, address: address ?? '', namespace, pids });
  const server = await ServerProcess.start(command);
  try {
    const { address: at, loopDelayFile } = server;
    return await run({ name, address: at, namespace, pids: [server.pid, ...pids], loopDelayFile });
  } finally {
    await server.stop();
  }
}

function printTable(results: ReadonlyMap<string, readonly Figure[]>): void {
  const names = [...results.keys()];
  const baseline = names.at(-1) ?? '';
  // Among our own servers alone there is nothing to be proud of.
  const compared = names.length < 2 || values.temporal === undefined ? [] : names.slice(0, -1);
  const labels = new Set([...results.values()].flatMap((figures) => figures.map(({ name }) => name)));
  const rows = [...labels].map((label) => {
    const of = (name: string): Figure | undefined => results.get(name)?.find((figure) => figure.name === label);
    const ratios = compared.map((name) => ratio(of(name), of(baseline)));
    return [label, ...names.map((name) => shown(of(name))), ...ratios];
  });
  const header = ['', ...names, ...compared.map((name) => `${name} to ${baseline}`)];
  const table = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table)
    console.log(row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '));
}

function printJson(results: ReadonlyMap<string, readonly Figure[]>, file: string): void {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, date: new Date().toISOString() };
  const json = `${JSON.stringify({ machine, results: Object.fromEntries(results) }, undefined, 2)}\n`;
  if (file === '-') process.stdout.write(json);
  else writeFileSync(file, json);
}

function shown(figure: Figure | undefined): string {
  if (figure === undefined) return '–';
  if (Number.isNaN(figure.value)) return 'not measured';
  const digits = figure.value >= 100 ? 0 : figure.value >= 10 ? 1 : 2;
  return `${figure.value.toFixed(digits)} ${figure.unit}`;
}

/** How many times better, whichever way the figure counts. */
function ratio(ours: Figure | undefined, theirs: Figure | undefined): string {
  if (ours === undefined || theirs === undefined) return '–';
  const better = ours.lowerIsBetter ? theirs.value / ours.value : ours.value / theirs.value;
  return Number.isFinite(better) ? `${better.toFixed(better >= 10 ? 0 : 1)}×` : '–';
}
