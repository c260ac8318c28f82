/** Which run has made each child (`ShardView.childStarts`). */
import { assert } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { ParentLink } from '../commands/history-commands.ts';
import { findRun } from './reject.ts';
import { childStartKey, type ShardView } from './state.ts';
import { startOfDeleted } from './last-message.ts';
import type { PendingTask } from './tasks.ts';

export class ChildStarts {
  readonly #runIds = new Map<string, string>();
  readonly runIds: ReadonlyMap<string, string> = this.#runIds;
  /** Tasks of deleted runs that keep a start, whatever becomes of the run that it has made, by the key of the start. */
  readonly #kept = new Map<string, number>();

  set(startKey: string, runId: string): void {
    this.#runIds.set(startKey, runId);
  }

  /** Until its parent has heard of its end, the child that was deleted is the one that the parent's start has made. */
  keep(task: PendingTask): void {
    const start = startOfDeleted(task);
    if (start === undefined) return;
    this.#kept.set(start.startKey, task.taskId);
    this.#runIds.set(start.startKey, start.firstRunId);
  }

  /** The message of the task is delivered. */
  giveUp(task: PendingTask, runs: ReadonlyMap<string, unknown>): void {
    const start = startOfDeleted(task);
    if (start === undefined || !this.#kept.delete(start.startKey)) return;
    if (!runs.has(start.firstRunId)) this.#runIds.delete(start.startKey);
  }

  /** The run that was made leaves. */
  drop(startKey: string): void {
    if (!this.#kept.has(startKey)) this.#runIds.delete(startKey);
  }

  dropOf(runIds: ReadonlySet<string>): void {
    for (const [startKey, runId] of this.#runIds) if (runIds.has(runId)) this.drop(startKey);
  }
}

/** The first run that this start made; undefined: none, as far as is known here. Forgotten itself, it is named by the runs that continue it. */
export function childThatStarted(shard: ShardView, key: RunKey, parent: ParentLink): string | undefined {
  const startKey = childStartKey(parent);
  const runId = shard.childStarts.get(startKey);
  if (runId !== undefined) return runId;
  assert(!shard.isChildStartCold(key, parent), 'the start of a child is loaded before it is decided on');
  const current = findRun(shard, { ...key, runId: '' })?.start;
  return current?.parent !== undefined && childStartKey(current.parent) === startKey ? current.firstRunId : undefined;
}
