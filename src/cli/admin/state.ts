/** `perdure admin state`: what a running server says of shards and task queues, from `GET /health/state` on its gRPC port. */
import { printOne } from '../printed-list.ts';
import type { ExitCode, Invocation } from '../command.ts';
import { table } from '../table.ts';
import { connectionSettings } from '../connection.ts';
import { jsonOfServer } from './ask-server.ts';

/** As much of the page as is printed; a server of another version may leave some out. */
type Partition = {
  readonly state: string;
  readonly reason?: string;
  readonly offset: number;
  readonly checkpoint?: {
    readonly offset: number;
    readonly ageSeconds?: number;
    readonly tailRecords: number;
    readonly tailBytes: number;
    readonly unwrittenBytes: number;
    readonly trouble?: { readonly reason: string; readonly seconds: number };
  };
};
type Shard = Partition & {
  readonly shard: number;
  readonly executions?: { readonly hot?: number; readonly hotBytes?: number; readonly cold?: number };
  readonly listRebuild?: {
    readonly state: string;
    readonly runs: number;
    readonly unreadRuns: number;
    readonly removedRows: number;
    readonly seconds: number;
    readonly trouble?: string;
  };
};
type Matching = Partition & { readonly partition: number; readonly storedTasks?: number };
type Purge = {
  readonly namespaceId: string;
  readonly namespace: string;
  readonly state: string;
  readonly executions: number;
  readonly nextStepTimeMs: number;
  readonly trouble?: string;
};
type Memory = {
  readonly stateBytes: number;
  readonly limits: {
    readonly hotStateBytesMax?: number;
    readonly historyCacheBytesMax?: number;
    readonly unwrittenStateBytesMax?: number;
  };
};
type StatePage = {
  readonly status: string;
  readonly memory?: Memory;
  readonly shards: readonly Shard[];
  readonly matching?: readonly Matching[];
  readonly purges?: readonly Purge[];
};

export async function runState(invocation: Invocation): Promise<ExitCode> {
  const isFit = ({ status, shards }: Partial<StatePage>): boolean => typeof status === 'string' && Array.isArray(shards);
  const page = await jsonOfServer<StatePage>(connectionSettings(invocation), 'GET', '/health/state', isFit);
  return printOne(invocation, page, () => rendered(page));
}

const titles = ['STATE', 'OFFSET', 'CHECKPOINT', 'AGE', 'TAIL', 'UNWRITTEN'] as const;

function rendered({ status, memory, shards, matching = [], purges = [] }: StatePage): string {
  const tables = [
    table(['MEMORY', 'HOT UP TO', 'HISTORIES UP TO', 'UNWRITTEN UP TO'], memoryLimits(memory)),
    table(
      ['SHARD', ...titles, 'HOT', 'COLD'],
      shards.map((each) => [String(each.shard), ...cells(each), ...executions(each)]),
    ),
    table(
      ['MATCHING', ...titles, 'TASKS'],
      matching.map((each) => [String(each.partition), ...cells(each), String(each.storedTasks ?? '-')]),
    ),
    table(['DELETED NAMESPACE', 'ID', 'STATE', 'EXECUTIONS DELETED', 'NEXT STEP'], purges.map(purge)),
    table(['SHARD', 'LIST REBUILD', 'RUNS', 'UNREAD', 'ROWS REMOVED', 'TIME'], shards.flatMap(rebuilds)),
  ];
  const named = [
    ...shards.map((each) => ({ ...each, who: `shard ${each.shard}` })),
    ...matching.map((each) => ({ ...each, who: `matching partition ${each.partition}` })),
  ];
  const notes = [...notServed(named), ...notWritten(named), ...notPurged(purges)];
  const without = shards.length > 0 && shards.every(({ state, checkpoint }) => state === 'active' && checkpoint === undefined);
  if (without) notes.push('There is no database: state is in memory and in the journals.');
  return [status, ...tables, notes.join('\n')].filter((part) => part !== '').join('\n\n') + '\n';
}

type Named = Partition & { readonly who: string };

function notServed(partitions: readonly Named[]): readonly string[] {
  return saidOnce(partitions.flatMap(({ who, reason = '' }) => (reason === '' ? [] : [{ who, reason }]))).map(
    ({ who, reason }) => `${who}: ${reason}`,
  );
}

function notWritten(partitions: readonly Named[]): readonly string[] {
  const troubles = partitions.flatMap(({ who, checkpoint }) => (checkpoint?.trouble === undefined ? [] : [{ who, ...checkpoint.trouble }]));
  return saidOnce(troubles).map(({ who, reason, those }) => {
    const longest = Math.max(...those.map((each) => each.seconds));
    return `${who}: nothing written for ${seconds(longest)}: ${reason}`;
  });
}

function notPurged(purges: readonly Purge[]): readonly string[] {
  return purges.flatMap(({ namespace, trouble }) => (trouble === undefined ? [] : [`namespace ${namespace} is not purged: ${trouble}`]));
}

type Trouble = { readonly who: string; readonly reason: string };

/** A database that is away is one reason for many: it is said with the first that bears it. */
function saidOnce<Each extends Trouble>(troubles: readonly Each[]): readonly (Trouble & { readonly those: readonly Each[] })[] {
  return [...Map.groupBy(troubles, ({ reason }) => reason)].map(([reason, those]) => {
    const more = those.length === 1 ? '' : ` and ${those.length - 1} more`;
    return { who: `${those[0]?.who}${more}`, reason, those };
  });
}

function cells({ state, offset, checkpoint }: Partition): readonly string[] {
  if (checkpoint === undefined) return [state, String(offset), '-', '-', '-', '-'];
  const { ageSeconds, tailRecords, tailBytes, unwrittenBytes } = checkpoint;
  return [
    state,
    String(offset),
    checkpoint.offset < 0 ? 'none' : String(checkpoint.offset),
    ageSeconds === undefined ? '-' : seconds(ageSeconds),
    `${tailRecords} (${size(tailBytes)})`,
    size(unwrittenBytes),
  ];
}

function memoryLimits(memory: Memory | undefined): readonly (readonly string[])[] {
  const { hotStateBytesMax, historyCacheBytesMax, unwrittenStateBytesMax } = memory?.limits ?? {};
  if (memory === undefined || hotStateBytesMax === undefined) return [];
  return [[memory.stateBytes, hotStateBytesMax, historyCacheBytesMax ?? 0, unwrittenStateBytesMax ?? 0].map(size)];
}

function rebuilds({ shard, executions: { hot = 0, cold = 0 } = {}, listRebuild }: Shard): readonly (readonly string[])[] {
  if (listRebuild === undefined) return [];
  const { state, runs, unreadRuns, removedRows, trouble } = listRebuild;
  const how = trouble ?? (state === 'waits' ? 'waits for a checkpoint' : state === 'done' ? 'done' : 'running');
  const ofRuns = state === 'done' ? String(runs) : `${runs} of ${hot + cold}`;
  return [[String(shard), how, ofRuns, String(unreadRuns), String(removedRows), seconds(listRebuild.seconds)]];
}

const purgeStates: Readonly<Record<string, string>> = { grace: 'is kept', purging: 'is purged', purged: 'is empty' };

function purge({ namespace, namespaceId, state, executions, nextStepTimeMs }: Purge): readonly string[] {
  const next = state === 'purging' ? '-' : new Date(nextStepTimeMs).toISOString();
  return [namespace, namespaceId, purgeStates[state] ?? state, String(executions), next];
}

function executions({ executions: { hot, hotBytes, cold } = {} }: Shard): readonly string[] {
  const inMemory = hot === undefined ? '-' : `${hot}${hotBytes === undefined ? '' : ` (${size(hotBytes)})`}`;
  return [inMemory, String(cold ?? '-')];
}

function seconds(count: number): string {
  if (count < 120) return `${count} s`;
  return count < 7_200 ? `${Math.round(count / 60)} min` : `${Math.round(count / 3_600)} h`;
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KiB` : `${Math.round(bytes / 1024 ** 2)} MiB`;
}
