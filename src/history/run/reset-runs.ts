/**
 * The runs that a reset relates.
 *
 *     A  1 … 9 … 20 ─▶ B  1 … 9, 10 … 30 ─▶ C  1 … 25, 26 …       bases of C: A to 9, B to 25
 *
 * A child that A started knows A as its parent for good. What it tells A is told C, the one that is open; what C asks of it, it asks in A's name.
 */
import type { ParentLink } from '../commands/history-commands.ts';
import { findRun } from './reject.ts';
import { type BaseRun, isRunning, type RunView, type ShardView } from './state.ts';
import type { Sender } from './tasks.ts';

/** One too many: the oldest is forgotten of those that wrote none of the events, for no pending child is theirs; else the oldest. */
const basesMax = 100;

export function basesOf(base: RunView, lastEventId: number): readonly BaseRun[] {
  const before = base.reset?.bases ?? [];
  const shared = before.map((each) => ({ ...each, lastEventId: Math.min(each.lastEventId, lastEventId) }));
  const all = [...shared, { runId: base.key.runId, lastEventId }];
  if (all.length <= basesMax) return all;
  const wroteNone = all.findIndex((each, at) => each.lastEventId === all[at - 1]?.lastEventId);
  return all.toSpliced(Math.max(0, wroteNone), 1);
}

/** The run that wrote an event first: as that one the run speaks of it. */
export function authorOf(run: RunView, eventId: number): Sender {
  const base = run.reset?.bases.find(({ lastEventId }) => eventId <= lastEventId);
  if (base === undefined) return run;
  return { key: { ...run.key, runId: base.runId }, namespace: run.namespace, start: run.start };
}

/** Another run goes on from behind the start of this child: it hears of the child itself, and the child is its own. */
export function goesOnWithChild(shard: ShardView, { key }: Sender, initiatedEventId: number): boolean {
  const current = findRun(shard, { ...key, runId: '' });
  if (current?.reset === undefined || !current.children.has(initiatedEventId)) return false;
  return authorOf(current, initiatedEventId).key.runId === key.runId;
}

/** The open run that a child's news are for; undefined: nobody waits for them. */
export function openParent(shard: ShardView, { namespaceId, workflowId, runId, initiatedEventId }: ParentLink): RunView | undefined {
  const parent = findRun(shard, { namespaceId, workflowId, runId });
  if (parent !== undefined && isRunning(parent)) return parent;
  const current = findRun(shard, { namespaceId, workflowId, runId: '' });
  if (current?.reset === undefined || !isRunning(current)) return undefined;
  const goesOn = current.reset.bases.some((base) => base.runId === runId && initiatedEventId <= base.lastEventId);
  return goesOn ? current : undefined;
}
