/** What is to be said of a kind of command, and what many kinds have in common. */
import type { RunKey } from '../kernel/run-key.ts';
import type { CompleteWorkflowTask, HistoryCommand, QueryWorkflow } from './commands/history-commands.ts';
import type { Draft } from './draft/draft.ts';
import { activityRefused, notFound } from './execution/not-a-workflow.ts';
import { endedBefore } from './too-large.ts';
import type { HistoryReply } from './run/history-replies.ts';
import { type Lacks, runLacks } from './residency/lacks.ts';
import type { ShardView } from './run/state.ts';

export type CommandKind = HistoryCommand['kind'];

/** A command as the shard is asked it, before what the core wants with it is looked up. */
export type AskedCommand = HistoryCommand | CompleteWorkflowTask | QueryWorkflow;

type CommandOf = { readonly [Kind in CommandKind]: Extract<HistoryCommand, { readonly kind: Kind }> };
type AskedOf = { readonly [Kind in CommandKind]: Extract<AskedCommand, { readonly kind: Kind }> };

export type CommandRow<Kind extends CommandKind> = {
  /** Which run it is about. undefined: none, or one that the shard no longer knows. `runId` '' = the current run. */
  readonly key: (command: CommandOf[Kind], shard: ShardView) => RunKey | undefined;
  /** The namespace whose share of what waits the command takes. Cheap. '' = the shard's own, about several workflows or by the id of a task. */
  readonly namespaceOf: (command: AskedOf[Kind]) => string;
  /** What has to be loaded before it is decided (residency/lacks.ts). */
  readonly lacks: (command: CommandOf[Kind], shard: ShardView) => Lacks;
  /** A run that cannot be read goes with it: who asks for it has no other way out. */
  readonly deletesUnread?: true;
  /** The answer of a command that is for workflows alone, and names another execution. undefined: the command is decided as it is. */
  readonly refused: (command: CommandOf[Kind]) => HistoryReply | undefined;
  /** What the command takes in memory while it waits, beyond its ids and numbers: the bytes and texts that its sender chose the length of. Cheap. */
  readonly bytes: (command: AskedOf[Kind]) => number;
  /** The command may begin a run: it is told where memory must not grow (RoomForRuns). */
  readonly beginsRun?: true;
  /** The command ends or begins what is under way already: refused last when memory is short. */
  readonly finishesWork: boolean;
  /** What becomes of a command whose record would be larger than the journal takes (too-large.ts). undefined: it is refused. */
  readonly tooLarge: (draft: Draft, key: RunKey | undefined, command: CommandOf[Kind]) => HistoryReply | undefined;
  /** Which replies its asker may get besides Rejected. None: nobody asks, the shard commands it itself. */
  readonly replies: readonly HistoryReply['kind'][];
  /** undefined: the answer comes later. */
  readonly decide: (draft: Draft, command: CommandOf[Kind]) => HistoryReply | undefined;
};

const nothing = (): undefined => undefined;
export const little = (): number => 0;

const common = { finishesWork: false, tooLarge: nothing, refused: nothing };

/** For commands that name a run, of whatever archetype. */
export const ofRun = { ...common, ...naming(({ key }: { readonly key: RunKey }) => key) };

/** Schedules and batch jobs are not found by it. */
export const ofWorkflow = { ...ofRun, refused: ({ key }: { readonly key: RunKey }) => notFound(key) };

/** What a worker says of a task that it has. Only workflows have such tasks: what names another execution finds none. */
export const ofWorkflowTask = {
  ...naming(({ task }: { readonly task: { readonly key: RunKey } }) => task.key),
  ...{ refused: nothing, finishesWork: true, tooLarge: endedBefore, replies: ['done' as const] },
};

export const ofActivityTask = {
  ...naming(({ activity }: { readonly activity: { readonly key: RunKey } }) => activity.key),
  ...{ refused: activityRefused, finishesWork: true, tooLarge: endedBefore, replies: ['done' as const] },
};

export const ofShard = { ...common, key: nothing, lacks: nothing, namespaceOf: () => '' };
export const ownOfShard = { ...ofShard, replies: [] };

/** What the shard commands itself for a run, or for the run of one of its tasks. */
export const ownOfRun = { ...ofRun, replies: [] };
export const ownOfTimer = ofTask(({ taskId }, { timers }) => timers.get(taskId)?.key);
export const ownOfTransfer = ofTask(({ taskId }, { transfers }) => transfers.get(taskId)?.key);

type NamesTask = { readonly taskId: number };

export function ofTask(key: (command: NamesTask, shard: ShardView) => RunKey | undefined) {
  const lacks = (command: NamesTask, shard: ShardView): Lacks => {
    const named = key(command, shard);
    return named && runLacks(shard, named);
  };
  return { ...ownOfShard, key, lacks };
}

function naming<Command>(key: (command: Command) => RunKey) {
  return {
    key,
    namespaceOf: (command: Command): string => key(command).namespaceId,
    lacks: (command: Command, shard: ShardView): Lacks => runLacks(shard, key(command)),
  };
}
