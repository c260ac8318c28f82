/**
 * What exists on the server under fire, so that requests can name it: workflows, runs, tokens of tasks that were really given out. Everything
 * here belongs to the fuzzer's own namespaces.
 */
import { Prng } from '../simulation/prng.ts';

export const fuzzedNamespace = 'fuzz';
export const otherFuzzedNamespace = 'fuzz-other';

export type WorkflowTask = {
  readonly token: Uint8Array;
  readonly startedEventId: number;
  /** Ids of the updates that came with it. */
  readonly updates: readonly string[];
};

export type UpdateRef = { readonly workflowExecution: Execution; readonly updateId: string };

export type Execution = { readonly workflowId: string; readonly runId: string };

/** Older ones than this are forgotten: most are used up by then. */
const remembered = 200;
const workflowIds = Array.from({ length: 40 }, (_, index) => `fuzz-${index}`);
const queues = ['fuzz-queue-0', 'fuzz-queue-1', 'fuzz-queue-2'];
export const stickyQueue = 'fuzz-sticky';

export class World {
  /** Apart from the draws that shape a request, so that the shape is the same whatever exists. */
  draws = new Prng(0);
  /** Not answered yet, as far as the fuzzer knows. */
  readonly workflowTasks: WorkflowTask[] = [];
  readonly activityTokens: Uint8Array[] = [];
  readonly queryTokens: Uint8Array[] = [];
  readonly #usedTokens: Uint8Array[] = [];
  readonly #usedActivityTokens: Uint8Array[] = [];
  readonly #pageTokens: Uint8Array[] = [];
  readonly #runs: Execution[] = [];
  readonly #updates: UpdateRef[] = [];
  readonly #jobs: string[] = [];
  /** Those that take so long that a stop finds them at work. */
  readonly #slowJobs: string[] = [];
  readonly #paused: Execution[] = [];
  /** Those that have, or had, an activity with a worker. */
  readonly #withActivity: Execution[] = [];
  /** Those whose worker may answer that its activity is canceled. */
  readonly #toldToCancel: Execution[] = [];

  noteUpdate({ workflowId, runId }: Execution, updateId: string): void {
    keep(this.#updates, { workflowExecution: { workflowId, runId }, updateId });
  }

  /** Mostly the latest. */
  updateRef(): UpdateRef {
    const latest = this.#updates.at(-this.draws.int(1, 10));
    return latest === undefined || this.draws.chance(0.1) ? { workflowExecution: this.execution(), updateId: 'u0' } : latest;
  }

  noteJob(jobId: string, isSlow: boolean): void {
    keep(this.#jobs, jobId);
    if (isSlow) keep(this.#slowJobs, jobId);
  }

  /** A job takes its stop once, and only while it is at work: few would be met by chance. */
  takeJobAtWork(): string {
    return (this.draws.chance(0.8) ? this.#slowJobs.pop() : undefined) ?? this.jobId();
  }

  /** Mostly the latest, which may be at work still. */
  jobId(): string {
    const latest = this.#jobs.at(-this.draws.int(1, 3));
    return latest === undefined || this.draws.chance(0.2) ? `j${this.draws.int(0, 99)}` : latest;
  }

  noteRun({ workflowId, runId }: Execution): void {
    keep(this.#runs, { workflowId, runId });
  }

  notePaused({ workflowId, runId }: Execution): void {
    keep(this.#paused, { workflowId, runId });
  }

  /** Likewise of a pause that somebody takes back. */
  takePausedExecution(): Execution {
    return (this.draws.chance(0.8) ? this.#paused.pop() : undefined) ?? this.execution();
  }

  noteActivity({ workflowId, runId }: Execution): void {
    keep(this.#withActivity, { workflowId, runId });
  }

  noteToldToCancel({ workflowId, runId }: Execution): void {
    keep(this.#toldToCancel, { workflowId, runId });
  }

  notePageToken(token: Uint8Array): void {
    if (token.length > 0) keep(this.#pageTokens, token);
  }

  /** Nearly always a task that waits for its answer. */
  takeWorkflowTask(): WorkflowTask | undefined {
    if (this.draws.chance(0.03)) return undefined;
    const task = this.workflowTasks.shift();
    if (task !== undefined) keep(this.#usedTokens, task.token);
    return task;
  }

  /** An activity can be answered once, but heartbeat often. */
  takeActivityToken(): Uint8Array {
    const fresh = this.draws.chance(0.7) ? this.activityTokens.shift() : this.activityTokens.at(0);
    if (fresh === undefined) return this.#usedActivityTokens.length === 0 ? this.usedToken() : this.draws.pick(this.#usedActivityTokens);
    keep(this.#usedActivityTokens, fresh);
    return fresh;
  }

  /** The latest: who asked waits for it still. */
  takeQueryToken(): Uint8Array {
    return this.queryTokens.pop() ?? this.usedToken();
  }

  usedToken(): Uint8Array {
    return this.#usedTokens.length === 0 ? new Uint8Array([1, 2, 3]) : this.draws.pick(this.#usedTokens);
  }

  pageToken(): Uint8Array {
    return this.#pageTokens.length === 0 || this.draws.chance(0.7) ? new Uint8Array(0) : this.draws.pick(this.#pageTokens);
  }

  workflowId(): string {
    return this.draws.pick(workflowIds);
  }

  queue(): string {
    return this.draws.pick(queues);
  }

  get queues(): readonly string[] {
    return queues;
  }

  /** The current run of a workflow, or one that is or was, or one that never was. */
  execution(): Execution {
    const drawn = this.draws.fraction();
    if (drawn < 0.3 || this.#runs.length === 0) return { workflowId: this.workflowId(), runId: '' };
    if (drawn < 0.6) return { ...this.draws.pick(this.#runs), runId: '' };
    if (drawn < 0.95) return this.draws.pick(this.#runs);
    return { workflowId: this.workflowId(), runId: '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55' };
  }

  /** Mostly the latest. */
  executionWithActivity(): Execution {
    const latest = this.#withActivity.at(-this.draws.int(1, 20));
    return latest === undefined || this.draws.chance(0.2) ? this.execution() : latest;
  }

  /** An activity takes its cancellation once, and only when it was told of it: few would be met by chance. */
  takeExecutionToldToCancel(): Execution {
    return (this.draws.chance(0.95) ? this.#toldToCancel.pop() : undefined) ?? this.executionWithActivity();
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > remembered) list.shift();
}
