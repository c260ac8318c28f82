/**
 * What archives closed histories, for all shards of a process.
 *
 *     archiveExecution ─▶ position of the run ─▶ pages, one after the other ─▶ Archiver ─▶ archived
 */
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';
import { thrownError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { Archiver } from '../../../ports/archiver.ts';
import { errorCode } from '../../../kernel/error-text.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryRequest } from '../../../history/commands/history-commands.ts';
import { historyShardOf } from '../../../kernel/shard.ts';
import { isAskFailure, ownWork } from '../../asks/asks.ts';
import type { Asker, HistoryAnswer } from '../../asks/router.ts';
import type { Clock } from '../../../ports/machine.ts';
import { rejectedTask, unansweredTask } from '../hand-over/task-failures.ts';
import { type SidePlace, SideRoom } from './side-room.ts';
import { type ArchiveTask, notReady, type SideAnswer, type SideRunner } from './side-tasks.ts';

export type ArchiveTasksOptions = {
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById'> };
  readonly router: Pick<Asker, 'askHistory'>;
  readonly historyShards: number;
  /** undefined: nothing is archived now, and tasks wait. */
  readonly archiver: Archiver | undefined;
  readonly clock: Pick<Clock, 'monoMs'>;
};

/** Each may hold a thread of the process's own, and bin/perdure gives it some more than these. */
const archiving = { placesMax: 8, placesPerDestinationMax: 4 } as const;
/** One history has so long: 50 MiB on a slow disk take less. */
const ATTEMPT_MS_MAX = 300_000;
const ASK_TIMEOUT_MS = 10_000;
const page = { eventsMax: 100, bytesMax: 1024 * 1024 } as const;

export function archiveRunner(options: ArchiveTasksOptions): SideRunner<ArchiveTask> {
  const archive = new ArchiveTasks(options);
  return {
    room: new SideRoom(() => archiving),
    placeOf: (task) => archive.placeOf(task),
    attemptMsMax: ATTEMPT_MS_MAX,
    attempt: (task) => archive.archive(task),
  };
}

class ArchiveTasks {
  readonly #options: ArchiveTasksOptions;
  /** Runs whose files are being written, some of them perhaps by an attempt that nobody waits for any more. */
  readonly #beingWritten = new Set<string>();

  constructor(options: ArchiveTasksOptions) {
    this.#options = options;
  }

  placeOf({ key: { namespaceId } }: ArchiveTask): SidePlace {
    return { destination: this.#options.archiver?.destinationOf(this.#uriOf(namespaceId)) ?? '', namespaceId };
  }

  #uriOf(namespaceId: string): string {
    return this.#options.registry.view.namespaceById(namespaceId)?.archival.uri ?? '';
  }

  async archive({ key, taskId }: ArchiveTask): Promise<SideAnswer> {
    const { archiver } = this.#options;
    const archived: SideAnswer = { kind: 'done', command: { kind: 'archived', taskId } };
    const uri = this.#uriOf(key.namespaceId);
    if (archiver === undefined) return notReady('the cluster archives no histories now (archival.history.state)');
    if (uri === '') return failed(new Error('the namespace has no archival URI'));
    const position = await this.#ask(key, { kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false });
    if (isAskFailure(position)) return { kind: 'failed', failure: unansweredTask(position) };
    if (position.kind === 'rejected') {
      const failure = rejectedTask(position.rejection);
      return failure.kind === 'over' ? archived : { kind: 'failed', failure };
    }
    if (position.kind !== 'historyPosition' || !position.closed) return failed(new Error('the run is open'));
    // Two of one run would write into each other's file.
    if (this.#beingWritten.has(key.runId)) return notReady('an earlier attempt has not finished');
    this.#beingWritten.add(key.runId);
    try {
      await archiver.write(uri, key, this.#pages(key, position.lastEventId));
      return archived;
    } catch (error) {
      return error instanceof NotRead ? { kind: 'failed', failure: error.failure } : { kind: 'failed', failure: fileFailure(error) };
    } finally {
      this.#beingWritten.delete(key.runId);
    }
  }

  async *#pages(key: RunKey, lastEventId: number): AsyncGenerator<readonly Uint8Array[]> {
    for (let firstEventId = 1; firstEventId <= lastEventId;) {
      const answer = await this.#ask(key, { kind: 'readHistory', key, firstEventId, lastEventId, ...page });
      if (isAskFailure(answer)) throw new NotRead(unansweredTask(answer));
      if (answer.kind !== 'historyPage' || answer.events.length === 0)
        throw new Error(`event ${firstEventId} of ${lastEventId} is missing`);
      yield answer.events;
      firstEventId += answer.events.length;
    }
  }

  #ask<Request extends HistoryRequest>({ namespaceId, workflowId }: RunKey, request: Request): Promise<HistoryAnswer<Request>> {
    const { router, historyShards, clock } = this.#options;
    const shard = historyShardOf(namespaceId, workflowId, historyShards);
    return new Promise((resolve) => router.askHistory(shard, request, ownWork(clock.monoMs() + ASK_TIMEOUT_MS), resolve));
  }
}

class NotRead extends Error {
  override name = 'NotRead';
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure) {
    super('a page of the history could not be read');
    this.failure = failure;
  }
}

function failed(error: unknown): SideAnswer {
  return { kind: 'failed', failure: { kind: 'failed', by: 'refusal', error: thrownError(error) } };
}

/** What any other task would meet just as well, and what passes by itself. */
const passing: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ETIMEDOUT']);

/** A full or read-only folder is an operator's to mend: it counts, and in an hour the task is a letter. */
function fileFailure(error: unknown): TaskFailure {
  const said = thrownError(error);
  return passing.has(errorCode(error) ?? '')
    ? { kind: 'notYet', why: 'rateLimited', error: said }
    : { kind: 'failed', by: 'dependency', error: said };
}
