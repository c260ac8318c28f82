/**
 * What a shard knows of what is not in its memory. A shard with a database keeps only a part of its executions there:
 *
 *     in memory ──────────────────────────────────────────────▶ resident
 *     not in memory ─┬─ nothing has ever left ────────────────▶ nowhere
 *                    ├─ the filter says no: never begun ──────▶ nowhere
 *                    ├─ retired, its row not yet deleted ─────▶ nowhere
 *                    ├─ the table was asked, and has none ────▶ nowhere
 *                    └─ else ─────────────────────────────────▶ cold: to be loaded before anything is decided
 *
 * There is no index of what is cold: that would cost memory for each workflow of months.
 */
import type { ExecutionId, RunKey } from '../../kernel/run-key.ts';
import { childStartKey, executionKey } from '../run/state.ts';
import { HotRuns } from './hot-runs.ts';
import { KnownKeys } from './known-keys.ts';
import { RunsBehind } from './runs-behind.ts';

export type StartedBy = { readonly runId: string; readonly initiatedEventId: number };

export type UnreadTask = { readonly taskId: number; readonly kind: 'transferTask' | 'timer'; readonly error: unknown };

export type LoadKey =
  /** The newest run of a workflow id. */
  | ({ readonly kind: 'current' } & ExecutionId)
  | ({ readonly kind: 'run' } & RunKey)
  /** The first run of a child that this parent has started here. */
  | { readonly kind: 'childStart'; readonly parentRunId: string; readonly initiatedEventId: number };

/** For the decisions that wait for it, not for ever: the oldest goes, and is asked for again. Far more than are ever on their way. */
const absentMax = 10_000;

export class Residency {
  readonly keys = new KnownKeys();
  readonly hot = new HotRuns();
  readonly behind = new RunsBehind();
  /** Tasks whose rows cannot be read, by task id. They neither run nor fire, and go when they end. */
  readonly unread = new Map<number, UnreadTask>();
  /** Runs whose rows could not be read, and that are to be deleted nevertheless, by name. */
  readonly toDeleteUnread = new Map<string, RunKey>();
  allHere = true;
  readonly #absent = new Set<string>();

  somethingLeaves(): void {
    this.allHere = false;
  }

  beginsInPart(): void {
    this.allHere = false;
    this.keys.unknown();
  }

  isAbsent(name: string): boolean {
    return this.#absent.has(name);
  }

  absent(name: string): void {
    this.#absent.delete(name);
    this.#absent.add(name);
    const [oldest = name] = this.#absent;
    if (this.#absent.size > absentMax) this.#absent.delete(oldest);
  }

  /** Somebody wants to delete a run whose row cannot be read: that is decided without it. `asked`: as it was asked for. */
  deleteUnread(asked: LoadKey, key: RunKey): void {
    this.toDeleteUnread.set(asked.kind === 'run' ? runName(asked) : currentName(key), key);
  }

  /** The run has ended for good, or its row can be read. */
  noLongerUnread(key: RunKey): void {
    if (this.toDeleteUnread.size === 0) return;
    this.toDeleteUnread.delete(runName(key));
    this.toDeleteUnread.delete(currentName(key));
  }

  begins(key: RunKey, startedBy: StartedBy | undefined): void {
    this.keys.add(key);
    if (this.#absent.size === 0) return;
    this.#absent.delete(currentName(key));
    this.#absent.delete(runName(key));
    if (startedBy !== undefined) this.#absent.delete(childStartName(startedBy));
  }

  preparationBegins(key: RunKey): void {
    this.keys.add(key);
    this.#absent.delete(runName(key));
  }

  becomesCurrent(key: RunKey): void {
    this.#absent.delete(currentName(key));
  }
}

export function currentName({ namespaceId, workflowId }: ExecutionId): string {
  return `current ${executionKey(namespaceId, workflowId)}`;
}

/** A run may be asked for under a workflow id that is not its own. */
export function runName({ namespaceId, workflowId, runId }: RunKey): string {
  return `run ${runId} ${executionKey(namespaceId, workflowId)}`;
}

export function childStartName(startedBy: StartedBy): string {
  return `start ${childStartKey(startedBy)}`;
}
