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

/** The ports, and helpers of every room that stand on them alone. */
const actorPorts = [
  ...[
    'log',
    'database',
    'ports',
    'system-ports',
    'wall-alarm',
    'now-and-then',
    'loop-turns',
    'callback-deliveries',
    'archiver',
    'batch-operations',
    'batch-pace',
  ].map((file) => `src/actors/${file}.ts`),
  'src/kernel/',
];

const underShells = ['src/actors/partition/', 'src/actors/asks/', ...actorPorts, 'src/observability/'];

const shell = {
  reason: 'a shell carries out what its own core decided; it asks other actors and knows no other shell',
  wayOut: 'ask the other actor, or move what both need to src/actors/partition or src/actors/asks',
};

// Names and numbers of a neighbour, for what is asked of it.
const vocabularyOfMatching = ['src/matching/task-queue.ts'];
const vocabularyOfDeadLetters = [
  'src/deadletters/task-failure.ts',
  // What is a dead letter is decided where the task is attempted.
  'src/deadletters/attempts.ts',
  'src/deadletters/failure-fingerprint.ts',
];
const vocabularyOfHistory = ['src/history/generated/enums.ts'];

/** What the frontend stands on. */
const besideFrontend = [
  ...['src/visibility/', 'src/actors/', 'src/kernel/', 'src/wire/', 'src/config/', 'src/observability/', 'node:'],
  ...['src/deadletters/filter/', 'src/schedules/', 'src/batches/', 'src/workers/'],
];
const frontendTypes = ['src/filter/', 'src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/'];
/** Of the frontend, what knows no service. */
const underServices = ['errors/', 'tokens/', 'transport/', 'validation/', 'handler-context.ts'].map((place) => `src/grpc/${place}`);

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
    wayOut: 'hand the value in; SQL belongs into src/database',
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
    from: 'src/visibility/',
    may: ['src/visibility/', 'src/filter/', 'src/kernel/', 'src/schedules/'],
    reason: 'what a filter means depends on no database and on no actor',
    wayOut: 'hand the value in; SQL belongs into src/database',
  },
  {
    from: 'src/actors/ownership/',
    may: ['src/actors/ownership/', ...actorPorts, 'src/observability/', 'xstate'],
    reason: 'owning a journal is the same whatever the records mean and whoever asks',
    wayOut: 'let the partition hand it over, or do it in src/actors/partition',
  },
  {
    from: 'src/actors/asks/',
    may: ['src/actors/asks/', ...actorPorts],
    mayTypes: ['src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/'],
    reason: 'an ask and its answer cross processes one day: they know what is asked, not who answers',
    wayOut: 'register the actor at the switchboard, or do it in the shell',
  },
  {
    from: 'src/actors/partition/',
    may: ['src/actors/partition/', 'src/actors/ownership/', 'src/actors/asks/', ...actorPorts, 'src/observability/'],
    reason: 'the loop serves any core',
    wayOut: 'let the shell do it, through src/actors/partition/partition-core.ts',
  },
  {
    from: 'src/actors/checkpoint/',
    may: ['src/actors/checkpoint/', ...actorPorts, 'src/observability/'],
    // The states that a partition may be in.
    mayTypes: ['src/actors/ownership/partition-life.ts'],
    reason: 'when and how a checkpoint is written is the same whatever its rows hold',
    wayOut: 'let the shell do it, behind CheckpointedState (src/actors/checkpoint/checkpointer.ts)',
  },
  {
    from: 'src/actors/history/',
    may: [
      'src/actors/history/',
      'src/actors/checkpoint/',
      ...underShells,
      'src/history/',
      'src/batches/',
      'src/visibility/',
      ...vocabularyOfMatching,
      ...vocabularyOfDeadLetters,
    ],
    mayTypes: ['src/matching/', 'src/cluster/', 'src/deadletters/'],
    ...shell,
  },
  {
    from: 'src/actors/matching/',
    may: ['src/actors/matching/', 'src/actors/checkpoint/', ...underShells, 'src/matching/', ...vocabularyOfHistory],
    mayTypes: ['src/history/'],
    ...shell,
  },
  // Queues and jobs ask each other; both tell the audit.
  ...['queue', 'jobs', 'audit'].map((room) => ({
    from: `src/actors/deadletters/${room}/`,
    may: [`src/actors/deadletters/${room}/`, 'src/actors/deadletters/audit/', 'src/actors/checkpoint/', ...underShells, 'src/deadletters/'],
    mayTypes: ['src/cluster/', 'src/history/'],
    ...shell,
  })),
  {
    from: 'src/actors/deadletters/',
    may: ['src/actors/deadletters/', 'src/actors/checkpoint/', ...underShells, 'src/deadletters/'],
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
    from: 'src/actors/',
    may: [...actorPorts, 'node:crypto'],
    mayTypes: ['src/batches/', 'src/visibility/', 'src/filter/', 'src/deadletters/'],
    reason: 'actors own their ports and know no adapter; the ports know no room',
    wayOut: 'declare a port in src/actors and let src/composition.ts plug the adapter in, or move the file into a room',
  },
  {
    from: 'src/peers/codec/',
    may: ['src/peers/codec/', 'src/wire/', 'src/kernel/'],
    mayTypes: ['src/history/', 'src/matching/', 'src/cluster/', 'src/actors/asks/asks.ts', 'src/actors/asks/router.ts'],
    reason: 'a codec turns an ask or its answer into bytes and back; it decides nothing and sends nothing',
    wayOut: 'import the types of the cores only, and keep decisions in them',
  },
  {
    from: 'src/topics/kafka/',
    may: ['src/topics/', 'src/actors/log.ts', 'src/kernel/', 'src/config/', 'src/observability/', 'kafkajs', 'node:'],
    mayTypes: ['src/actors/'],
    reason: 'the log stores bytes; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Log port (src/actors/log.ts)',
  },
  {
    from: 'src/topics/embedded/',
    may: ['src/topics/', 'src/actors/log.ts', 'src/sqlite/', 'src/kernel/', 'src/observability/', 'node:'],
    mayTypes: ['src/actors/', 'src/config/'],
    reason: 'the log stores bytes; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Log port (src/actors/log.ts)',
  },
  {
    from: 'src/topics/codec/',
    // The last ones are vocabulary: names, numbers and versions.
    may: [
      'src/topics/',
      'src/actors/log.ts',
      'src/kernel/',
      'src/wire/',
      ...['history/generated/enums.ts', 'history/generated/public-api.ts', 'history/record.ts', 'history/tasks.ts'].map(
        (file) => `src/${file}`,
      ),
      'src/history/hand-over/task-types.ts',
      // What a run keeps its entries in, and what a row that cannot be read is called.
      'src/history/pending.ts',
      'src/actors/database.ts',
      'node:zlib',
    ],
    mayTypes: ['src/history/', 'src/matching/', 'src/cluster/', 'src/deadletters/', 'src/actors/'],
    reason: 'a codec turns a core’s record into bytes and back; it decides nothing',
    wayOut: 'import the types of the cores only, and keep decisions in them',
  },
  {
    from: 'src/topics/',
    may: ['src/topics/', 'src/actors/log.ts', 'src/kernel/'],
    mayTypes: ['src/actors/', 'src/config/'],
    reason: 'what both logs share knows neither client: kafkajs lives in src/topics/kafka, node:sqlite in src/topics/embedded',
    wayOut: 'move the code into one of those folders, or carry the value through the Log port',
  },
  {
    from: 'src/database/sqlite/',
    may: ['src/database/', 'src/actors/database.ts', 'src/visibility/', 'src/sqlite/', 'src/kernel/', 'src/observability/', 'node:'],
    mayTypes: ['src/deadletters/', 'src/filter/'],
    reason: 'a database stores rows; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Database port (src/actors/database.ts)',
  },
  {
    from: 'src/database/postgres/',
    may: ['src/database/', 'src/actors/database.ts', 'src/visibility/', 'src/kernel/', 'src/config/', 'src/observability/', 'pg', 'node:'],
    mayTypes: ['src/deadletters/', 'src/filter/'],
    reason: 'a database stores rows; it knows the port and nothing of the cores',
    wayOut: 'carry what it needs through the Database port (src/actors/database.ts)',
  },
  {
    from: 'src/database/',
    may: ['src/database/', 'src/actors/database.ts', 'src/visibility/', 'src/kernel/', 'node:worker_threads'],
    mayTypes: ['src/deadletters/', 'src/filter/'],
    reason: 'what both databases share knows neither client',
    wayOut: 'move the code into src/database/sqlite or src/database/postgres',
  },
  {
    from: 'src/sqlite/',
    may: ['src/sqlite/', 'src/kernel/', 'node:'],
    reason: 'what the log and the database both know of SQLite knows neither of them',
    wayOut: 'move the code into src/topics/embedded or src/database/sqlite',
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
    may: ['src/outbound/', 'src/actors/callback-deliveries.ts', 'src/wire/', 'src/kernel/', 'node:'],
    mayTypes: ['src/actors/'],
    reason: 'what leaves the cluster knows its port and nothing of the cores',
    wayOut: 'carry what it needs through the port (src/actors/callback-deliveries.ts)',
  },
  {
    from: 'src/archival/',
    may: ['src/archival/', 'src/actors/archiver.ts', 'src/wire/', 'src/kernel/', 'node:'],
    reason: 'what keeps archived histories knows its port and nothing of the cores',
    wayOut: 'carry what it needs through the port (src/actors/archiver.ts)',
  },
  { from: 'src/wire/', may: ['src/wire/', 'src/kernel/', 'protobufjs', 'long'], mayTypes: ['src/schedules/'], ...support },
  { from: 'src/observability/', may: ['src/observability/', 'src/kernel/', 'node:'], mayTypes: ['pino'], ...support },
  {
    from: 'src/config/',
    // A pattern of an operator is tried where it is written.
    may: ['src/config/', 'src/kernel/', 'src/deadletters/error-pattern.ts', 'yaml', 'zod', 'node:'],
    mayTypes: ['src/observability/'],
    ...support,
  },
  {
    from: 'src/cli/',
    may: ['src/cli/', 'src/config/', 'src/observability/', 'src/kernel/', 'src/wire/', 'src/server.ts', 'node:'],
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
      'src/topics/',
      'src/archival/',
      'src/outbound/',
      'src/workers/',
      'src/database/sqlite/open-sqlite.ts',
      'src/database/postgres/open-postgres.ts',
      'src/database/postgres/probe.ts',
      'src/grpc/transport/listener.ts',
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
    from: 'src/composition.ts',
    may: ['src/', 'node:'],
    reason: 'the composition root plugs parts together and does nothing itself',
    wayOut: 'move the code into a part',
  },
];

/** Modules that may be used in one place only, whatever a row above says. */
export const singleHomes: readonly { readonly module: string; readonly homes: readonly string[] }[] = [
  { module: 'kafkajs', homes: ['src/topics/kafka/'] },
  { module: 'node:sqlite', homes: ['src/topics/embedded/', 'src/database/sqlite/'] },
  { module: 'pg', homes: ['src/database/postgres/'] },
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
