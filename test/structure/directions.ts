import type { Import } from './imports.ts';

/**
 * Who may import whom. Dependencies point inward, to the kernel; adapters do not know each other; src/composition.ts alone knows every
 * part and plugs them together.
 */
export type Direction = {
  /** Files that begin so. The first row that fits decides. */
  readonly from: string;
  /** Files of ours, packages and Node modules that may be imported, by their beginning. */
  readonly may: readonly string[];
  /** The same, as types only. */
  readonly mayTypes?: readonly string[];
  readonly reason: string;
  readonly wayOut: string;
};

const core = {
  reason: 'the cores are pure: no clock, no I/O, no randomness, no knowledge of each other, so that replay equals live',
  wayOut: 'hand the value in with the command, put a task into the record, or move a shared helper to src/kernel',
};

const support = {
  reason: 'support code knows no part of the server',
  wayOut: 'let the part that needs it import it, or let src/composition.ts hand it over',
};

/** What every room of actors stands on. */
const underActors = ['src/ports/', 'src/projections/database-port.ts', 'src/kernel/'];

const underShells = ['src/actors/partition/', 'src/actors/asks/', 'src/projections/checkpoints/', ...underActors, 'src/observability/'];

const shell = {
  reason: 'a shell carries out what its own core decided; it asks other actors and knows no other shell',
  wayOut: 'ask the other actor, or move what both need to src/actors/partition or src/actors/asks',
};

// Names and numbers of a neighbour, for what is asked of it.
const vocabularyOfDeadLetters = [
  'src/deadletters/task-failure.ts',
  // What is a dead letter is decided where the task is attempted.
  'src/deadletters/attempts.ts',
  'src/deadletters/failure-fingerprint.ts',
];
const vocabularyOfHistory = ['src/history/generated/enums.ts'];

/** The rows of requests, which say how each may be answered. */
const requestTables = [
  'src/history/command-table.ts',
  'src/matching/command-table.ts',
  'src/cluster/command-table.ts',
  'src/deadletters/letter-commands.ts',
  'src/deadletters/jobs/job.ts',
  'src/deadletters/audit/audit-requests.ts',
];

const databasePort = ['src/projections/database-port.ts', 'src/projections/database-methods.ts'];
const underDatabases = [
  'src/projections/tables/',
  'src/projections/thread/',
  'src/projections/visibility/',
  ...databasePort,
  'src/kernel/',
];
const typesOfDatabases = ['src/deadletters/', 'src/filter/'];
const database = {
  reason: 'a database stores rows; it knows the port, no other database and nothing of the cores',
  wayOut: 'carry what it needs through the database port (src/projections/database-port.ts)',
};

/** What the frontend stands on. */
const besideFrontend = [
  ...['src/actors/', 'src/projections/visibility/', 'src/projections/database-port.ts', 'src/ports/', 'src/kernel/', 'src/wire/'],
  ...['src/config/', 'src/observability/', 'node:'],
  ...['src/deadletters/bounds/', 'src/deadletters/filter/', 'src/schedules/', 'src/batches/', 'src/workers/'],
];
const frontendTypes = ['src/filter/', 'src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/'];
/** Of the frontend, what knows no service. */
const underServices = ['errors/', 'rpcs/', 'tokens/', 'transport/', 'validation/', 'handler-context.ts'].map(
  (place) => `src/grpc/${place}`,
);

export const directions: readonly Direction[] = [
  {
    from: 'src/kernel/',
    may: ['src/kernel/'],
    reason: 'the kernel is the leaf on which every part stands',
    wayOut: 'move the code to the folder that needs it, or the import out of it',
  },
  { from: 'src/history/', may: ['src/history/', 'src/schedules/', 'src/batches/', 'src/kernel/'], ...core },
  { from: 'src/matching/', may: ['src/matching/', 'src/kernel/'], ...core },
  {
    from: 'src/schedules/',
    may: ['src/schedules/', 'src/kernel/'],
    reason: 'when a schedule is due and what it does next is the same whoever keeps it',
    wayOut: 'hand the value in; what is written of a schedule belongs into src/history/schedule',
  },
  {
    from: 'src/batches/',
    may: ['src/batches/', 'src/kernel/'],
    reason: 'how a batch job gets on is the same whoever keeps it',
    wayOut: 'hand the value in; what is written of a job belongs into src/history/batch',
  },
  { from: 'src/cluster/', may: ['src/cluster/', 'src/kernel/'], ...core },
  {
    from: 'src/deadletters/filter/',
    may: ['src/deadletters/', 'src/filter/', 'src/kernel/'],
    reason: 'what a filter means depends on no database and on no actor',
    wayOut: 'hand the value in; SQL belongs into src/projections/tables',
  },
  { from: 'src/deadletters/', may: ['src/deadletters/', 'src/kernel/'], mayTypes: ['src/filter/'], ...core },
  {
    from: 'src/filter/',
    may: ['src/filter/', 'src/kernel/'],
    reason: 'the language of filters is the same whatever rows they are for',
    wayOut: 'hand in what a name means; what is special to some rows belongs beside them',
  },
  {
    from: 'src/workers/',
    may: ['src/workers/', 'src/filter/', 'src/kernel/'],
    reason: 'which workers there are, and what a query about them means, is the same whoever keeps it',
    wayOut: 'hand the value in; messages belong into src/grpc',
  },
  {
    from: 'src/actors/ownership/',
    may: ['src/actors/ownership/', ...underActors, 'src/observability/', 'xstate'],
    reason: 'owning a journal is the same whatever the records mean and whoever asks',
    wayOut: 'let the partition hand it over, or do it in src/actors/partition',
  },
  {
    from: 'src/actors/asks/',
    may: ['src/actors/asks/', ...underActors, ...requestTables],
    mayTypes: ['src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/'],
    reason: 'an ask and its answer cross processes one day: they know what is asked, not who answers',
    wayOut: 'register the actor at the switchboard, or do it in the shell',
  },
  {
    from: 'src/actors/partition/',
    may: ['src/actors/partition/', 'src/actors/ownership/', 'src/actors/asks/', ...underActors, 'src/observability/'],
    mayTypes: ['src/projections/checkpoints/'],
    reason: 'the loop serves any core',
    wayOut: 'let the shell do it, through src/actors/partition/partition-core.ts',
  },
  {
    from: 'src/actors/history/',
    may: [
      'src/actors/history/',
      ...underShells,
      'src/projections/list/',
      'src/projections/visibility/',
      'src/history/',
      'src/batches/',
      ...vocabularyOfDeadLetters,
    ],
    mayTypes: ['src/matching/', 'src/cluster/', 'src/deadletters/'],
    ...shell,
  },
  {
    from: 'src/actors/matching/',
    may: ['src/actors/matching/', ...underShells, 'src/matching/', ...vocabularyOfHistory],
    mayTypes: ['src/history/'],
    ...shell,
  },
  // Queues and jobs ask each other; both tell the audit.
  ...['queue', 'jobs', 'audit'].map((room) => ({
    from: `src/actors/deadletters/${room}/`,
    may: [`src/actors/deadletters/${room}/`, 'src/actors/deadletters/audit/', ...underShells, 'src/deadletters/'],
    mayTypes: ['src/cluster/', 'src/history/'],
    ...shell,
  })),
  {
    from: 'src/actors/deadletters/',
    may: ['src/actors/deadletters/', ...underShells, 'src/deadletters/'],
    mayTypes: ['src/cluster/', 'src/history/'],
    ...shell,
  },
  {
    from: 'src/actors/cluster/',
    may: ['src/actors/cluster/', ...underShells, 'src/cluster/'],
    mayTypes: ['src/history/', 'src/matching/'],
    ...shell,
  },
  {
    from: 'src/ports/',
    may: ['src/ports/', 'src/kernel/'],
    mayTypes: ['src/batches/', 'src/observability/logger.ts'],
    reason: 'a port says what is needed of the world: whoever needs it and whoever provides it stand on it',
    wayOut: 'declare what is needed, and let src/composition.ts plug in what provides it; what knows a room belongs into that room',
  },
  {
    from: 'src/peers/codec/',
    may: ['src/peers/codec/', 'src/wire/', 'src/kernel/'],
    mayTypes: [
      'src/history/',
      'src/matching/',
      'src/cluster/',
      'src/deadletters/',
      'src/filter/',
      'src/actors/asks/asks.ts',
      'src/actors/asks/router.ts',
    ],
    reason: 'a codec turns an ask or its answer into bytes and back; it decides nothing and sends nothing',
    wayOut: 'import the types of the cores only, and keep decisions in them',
  },
  {
    from: 'src/codec/',
    // The last ones are vocabulary: names, numbers and versions.
    may: [
      'src/codec/',
      'src/topics/catalogue.ts',
      'src/ports/log.ts',
      'src/kernel/',
      'src/wire/',
      ...['history/generated/enums.ts', 'history/generated/public-api.ts', 'history/run/record.ts', 'history/run/tasks.ts'].map(
        (file) => `src/${file}`,
      ),
      'src/history/run/task-types.ts',
      // What a run keeps its entries in, and what a row that cannot be read is called.
      'src/history/run/pending.ts',
      'src/projections/database-port.ts',
      'node:zlib',
    ],
    mayTypes: ['src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/', 'src/actors/'],
    reason: 'a codec turns a core’s record into bytes and back; it decides nothing',
    wayOut: 'import the types of the cores only, and keep decisions in them',
  },
  {
    from: 'src/topics/kafka/',
    may: ['src/topics/', 'src/ports/log.ts', 'src/kernel/', 'src/config/', 'src/observability/', 'kafkajs', 'node:'],
    mayTypes: ['src/actors/'],
    reason: 'the log stores bytes; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Log port (src/ports/log.ts)',
  },
  {
    from: 'src/topics/embedded/',
    may: ['src/topics/', 'src/ports/log.ts', 'src/sqlite/', 'src/kernel/', 'src/observability/', 'node:'],
    mayTypes: ['src/config/'],
    reason: 'the log stores bytes; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Log port (src/ports/log.ts)',
  },
  {
    from: 'src/topics/',
    may: ['src/topics/', 'src/ports/log.ts', 'src/kernel/'],
    mayTypes: ['src/config/'],
    reason: 'what both logs share knows neither client: kafkajs lives in src/topics/kafka, node:sqlite in src/topics/embedded',
    wayOut: 'move the code into one of those folders, or carry the value through the Log port',
  },
  {
    from: 'src/projections/visibility/',
    may: ['src/projections/visibility/', 'src/filter/', 'src/kernel/', 'src/schedules/'],
    reason: 'what a filter means depends on no database and on no actor',
    wayOut: 'hand the value in; SQL belongs into src/projections/tables',
  },
  {
    from: 'src/projections/checkpoints/',
    may: ['src/projections/checkpoints/', 'src/projections/database-port.ts', 'src/ports/', 'src/kernel/', 'src/observability/'],
    reason: 'when and how a checkpoint is written is the same whatever its rows hold',
    wayOut: 'let the shell do it, behind CheckpointedState (src/projections/checkpoints/checkpointer.ts)',
  },
  {
    from: 'src/projections/list/',
    may: [
      'src/projections/list/',
      'src/projections/visibility/',
      'src/projections/checkpoints/',
      'src/projections/database-port.ts',
      'src/history/run/summary.ts',
      'src/ports/',
      'src/kernel/',
      'src/observability/',
    ],
    mayTypes: ['src/history/', 'src/cluster/'],
    reason: 'rows of List are made of what records show of a run, whoever keeps the shard',
    wayOut: 'hand it in, or let the shell do it in src/actors/history',
  },
  {
    from: 'src/projections/sqlite/',
    may: [...underDatabases, 'src/projections/sqlite/', 'src/sqlite/', 'src/observability/', 'node:'],
    mayTypes: typesOfDatabases,
    ...database,
  },
  {
    from: 'src/projections/postgres/',
    may: [...underDatabases, 'src/projections/postgres/', 'src/config/', 'src/observability/', 'pg', 'node:'],
    mayTypes: typesOfDatabases,
    ...database,
  },
  {
    from: 'src/projections/thread/',
    may: ['src/projections/thread/', ...databasePort, 'src/kernel/', 'node:worker_threads'],
    ...database,
  },
  {
    from: 'src/projections/tables/',
    may: ['src/projections/tables/', 'src/projections/visibility/', ...databasePort, 'src/kernel/'],
    mayTypes: typesOfDatabases,
    reason: 'what both databases share knows neither client',
    wayOut: 'move the code into src/projections/sqlite or src/projections/postgres',
  },
  {
    from: 'src/projections/',
    may: ['src/projections/', 'src/kernel/'],
    mayTypes: ['src/history/shard/', 'src/deadletters/', 'src/filter/'],
    reason: 'the port says what is stored and how it is asked for; it knows no database and nobody who asks',
    wayOut: 'move the file into a room',
  },
  {
    from: 'src/sqlite/',
    may: ['src/sqlite/', 'src/kernel/', 'node:'],
    reason: 'what the log and the database both know of SQLite knows neither of them',
    wayOut: 'move the code into src/topics/embedded or src/projections/sqlite',
  },
  {
    from: 'src/grpc/pages/',
    may: ['src/grpc/pages/', ...underServices, ...besideFrontend],
    mayTypes: frontendTypes,
    reason: 'pages of histories and of lists are the same for every service, and for batch jobs',
    wayOut: 'hand the value in; what a service makes of a page belongs beside its methods',
  },
  {
    from: 'src/grpc/batch/',
    may: ['src/grpc/batch/', 'src/grpc/pages/', ...underServices, ...besideFrontend],
    mayTypes: frontendTypes,
    reason: 'a service takes jobs and shows them; what they do to workflows reaches a service by the names of its methods',
    wayOut: 'call the method, or move what both need to src/grpc/pages',
  },
  {
    from: 'src/grpc/',
    may: ['src/grpc/', ...besideFrontend],
    mayTypes: frontendTypes,
    reason: 'the frontend turns requests into commands; decisions are made behind `ask`, and adapters do not know each other',
    wayOut: 'ask an actor, or take a port in the constructor and let src/composition.ts plug it in',
  },
  {
    from: 'src/outbound/',
    may: ['src/outbound/', 'src/ports/callback-deliveries.ts', 'src/wire/', 'src/kernel/', 'node:'],
    mayTypes: ['src/ports/'],
    reason: 'what leaves the cluster knows its port and nothing of the cores',
    wayOut: 'carry what it needs through the port (src/ports/callback-deliveries.ts)',
  },
  {
    from: 'src/archival/',
    may: ['src/archival/', 'src/ports/archiver.ts', 'src/wire/', 'src/kernel/', 'node:'],
    reason: 'what keeps archived histories knows its port and nothing of the cores',
    wayOut: 'carry what it needs through the port (src/ports/archiver.ts)',
  },
  { from: 'src/wire/', may: ['src/wire/', 'src/kernel/', 'protobufjs', 'long'], mayTypes: ['src/schedules/'], ...support },
  { from: 'src/observability/', may: ['src/observability/', 'src/kernel/', 'node:'], mayTypes: ['pino'], ...support },
  {
    from: 'src/config/',
    may: ['src/config/', 'src/kernel/', 'yaml', 'zod', 'node:'],
    mayTypes: ['src/observability/', 're2js'],
    ...support,
  },
  {
    from: 'src/cli/',
    may: ['src/cli/', 'src/config/', 'src/observability/', 'src/kernel/', 'src/wire/', 'src/server.ts', 'smol-toml', 'node:'],
    mayTypes: ['@grpc/grpc-js'],
    reason: 'the command line knows one function of the server, and the messages of its services',
    wayOut: 'put the value into ServerOptions (src/config/server-options.ts)',
  },
  {
    from: 'src/start/',
    may: [
      'src/start/',
      'src/actors/',
      'src/cluster/',
      'src/codec/',
      'src/topics/',
      'src/archival/',
      'src/outbound/',
      'src/workers/',
      'src/ports/',
      'src/projections/checkpoints/',
      'src/projections/database-port.ts',
      'src/projections/database-methods.ts',
      'src/projections/sqlite/open-sqlite.ts',
      'src/projections/postgres/open-postgres.ts',
      'src/projections/postgres/probe.ts',
      'src/wire/',
      'src/config/',
      'src/observability/',
      'src/kernel/',
      'node:',
    ],
    reason: 'the steps of a start: the log is opened and looked at, the cluster set up; it serves nobody',
    wayOut: 'let src/composition.ts hand the value over',
  },
  {
    from: 'src/server.ts',
    may: ['src/start/open-log.ts', 'src/start/open-state.ts', 'src/config/', 'src/composition.ts'],
    reason: 'the log opens while the other parts load: what is imported here is loaded before either',
    wayOut: 'import it in src/composition.ts',
  },
  {
    from: 'src/roles/',
    may: [
      'src/roles/',
      'src/start/',
      'src/actors/',
      'src/ports/',
      'src/projections/checkpoints/',
      'src/projections/list/process-visibility.ts',
      'src/codec/',
      'src/topics/',
      'src/grpc/',
      'src/matching/matching-limits.ts',
      'src/config/',
      'src/kernel/',
      'node:',
    ],
    mayTypes: ['src/history/', 'src/observability/'],
    reason: 'a role puts actors together, starts them and stops them, and decides nothing',
    wayOut: 'move the code into a part',
  },
  {
    from: 'src/composition.ts',
    may: ['src/', 'node:'],
    reason: 'the composition root plugs parts together and does nothing itself',
    wayOut: 'move the code into a part',
  },
];

/** Modules that may be used in one place only, whatever a row above says. */
export const singleHomes: readonly { readonly module: string; readonly homes: readonly string[] }[] = [
  { module: 'kafkajs', homes: ['src/topics/kafka/'] },
  { module: 'node:sqlite', homes: ['src/topics/embedded/', 'src/projections/sqlite/'] },
  { module: 'pg', homes: ['src/projections/postgres/'] },
  { module: '@grpc/grpc-js', homes: ['src/cli/grpc-client.ts'] },
  { module: 'xstate', homes: ['src/actors/ownership/'] },
];

/** What is wrong with an import, with the reason and the way out; undefined when it is fine. */
export function violation(found: Import): string | undefined {
  const place = `${found.file}:${found.line} imports ${found.specifier}`;
  for (const { module, homes } of singleHomes) {
    if (found.target === module && !homes.some((home) => found.file.startsWith(home))) {
      return `${place}: ${module} is used in ${homes.join(' and ')} only; use the port instead`;
    }
  }
  const row = directions.find(({ from }) => found.file.startsWith(from));
  if (row === undefined) return `${place}: ${found.file} is in no folder of test/structure/directions.ts; say there what it may import`;
  const fits = (allowed: string): boolean =>
    allowed.endsWith('/') || allowed.endsWith(':') ? found.target.startsWith(allowed) : isModule(found.target, allowed);
  if (row.may.some(fits)) return undefined;
  if (found.typeOnly && (row.mayTypes ?? []).some(fits)) return undefined;
  const asTypes = (row.mayTypes ?? []).some(fits) ? ' (as types it may)' : '';
  return `${place}: ${row.from} must not${asTypes}, for ${row.reason}. Way out: ${row.wayOut}.`;
}

function isModule(target: string, allowed: string): boolean {
  return target === allowed || target.startsWith(`${allowed}/`);
}

type Floor = { readonly is: string; readonly rooms: readonly string[]; readonly apart?: true };

/**
 * The floors of src/history, from the bottom up: a room is a folder there, or a file beside the folders. A room may import those of the floors
 * below, and of its own floor, as long as they make no ring; rooms that stand apart import none of their own floor. Files beside the folders
 * are of the highest floor unless they stand here.
 */
export const historyFloors: readonly Floor[] = [
  {
    is: 'what a run is, what may be asked and answered, what a record says',
    rooms: ['generated/', 'commands/', 'run/', 'command-bytes.ts'],
  },
  {
    is: 'what a shard holds of its runs, how a record changes it, and the draft and the steps by which the lives write one',
    rooms: ['shard/', 'evolve/', 'draft/', 'steps/'],
  },
  {
    is: 'the lives: what each kind of thing in a run decides. What two of them need is a step; what joins them is the core',
    rooms: ['activity/', 'batch/', 'child/', 'execution/', 'external/', 'query/', 'schedule/', 'timer/', 'update/', 'workflow-task/'],
    apart: true,
  },
  { is: 'the core: what joins the lives, and what is loaded for a command', rooms: ['residency/', 'reset/', 'tasks/'] },
];

/** The same of src/projections. */
export const projectionFloors: readonly Floor[] = [
  {
    is: 'what a row of List is and what a query means; the port: what is stored, and how it is asked for',
    rooms: ['visibility/', 'database-port.ts', 'database-methods.ts'],
  },
  {
    is: 'what both databases store and ask; their thread; when checkpoints are written',
    rooms: ['tables/', 'thread/', 'checkpoints/'],
    apart: true,
  },
  { is: 'the databases, and the rows of List on their way there and back', rooms: ['sqlite/', 'postgres/', 'list/'], apart: true },
];
