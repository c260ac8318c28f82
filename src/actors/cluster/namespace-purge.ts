/**
 * Empties deleted namespaces, by ordinary commands of the shards:
 *
 *     namespaceDeleted ─▶ grace ─▶ a pass: all runs of all shards that are theirs ─▶ deleteWorkflow, at a rate
 *                                    ▲ again, until there is nothing of it                     │ nothing found
 *                                    └─────────────────────────────────────────────────────────┤
 *           namespaceRemoved ◀─ delay ◀─ namespacePurged ◀─ stored tasks are polled, and are obsolete ─ hosts of task queues forget it
 *
 * Where it stands is in the journal alone: what is deleted and not purged is walked again after a crash, by whoever owns the cluster's partition
 * then, and what was deleted is not found any more. A run that is open is terminated in the record that deletes it, so its parent and its
 * children in other namespaces hear of it. All deletions share one rate, each namespace has its share of a pass, and one of which something cannot
 * be deleted keeps no other. What is deleted meanwhile is of the next pass.
 */
import { type NamespaceDeletion, nextStepMs } from '../../cluster/deletions.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { isAskFailure, ownWork, refusalMessage } from '../asks/asks.ts';
import type { ListRunKeys, RunKeysPlace } from '../../history/commands/run-keys.ts';
import type { Asker, HistoryAnswer } from '../asks/router.ts';
import { BatchPace } from '../../ports/batch-pace.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';
import { type DrainOptions, drainQueues, forgetNamespace } from './drained-queues.ts';
import { PurgePass } from './purge-pass.ts';
import { Rounds } from './rounds.ts';
import { someAtATime } from '../asks/some-at-a-time.ts';

export type NamespacePurgeOptions = ClockAndLogger & {
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'deletions' | 'namespaceById'> };
  readonly historyShards: number;
  readonly matchingPartitions: number;
  readonly hostOf: DrainOptions['hostOf'];
  readonly settings: () => { readonly perSecondOfEach: number; readonly concurrencyMax: number };
  readonly asker: Pick<Asker, 'askHistory' | 'askMatching' | 'askCluster'>;
  readonly newId: () => string;
  /** PASS_MS_MAX, ENDS_MS_MAX and the times for answers, unless a test has less time. */
  readonly passMsMax?: number;
  readonly endsMsMax?: number;
  readonly answerMsMax?: number;
};

const ANSWER_TIMEOUT_MS = 30_000;
/** One that is not answered by then is asked again by a later pass: its place is for others. */
const DELETION_MS_MAX = 5_000;
/** After a page of a table: a rest so many times as long as its answer took. */
const RESTS = 2;
const REST_MS_MAX = 500;
const RETRY_DELAY_MS_MAX = 60_000;
const TELL_INTERVAL_MS = 10_000;
const QUIET_TRIES = 11;
/** The deletions of a pass take no longer, or are of the next: namespaces that are deleted meanwhile are in that too. To come to them is not counted. */
const PASS_MS_MAX = 60_000;
/** Emptying the stored tasks of one namespace takes no longer. */
const DRAIN_MS_MAX = 60_000;
/** Removing purged namespaces takes no longer in one round: the rest waits for the next round, because some host of task queues does not answer. */
const ENDS_MS_MAX = 60_000;
const ENDS_AT_A_TIME = 8;
/** Remembered runs whose deletion was not answered. Beyond this number they may hold up other runs again. */
const UNANSWERED_KEPT = 10_000;

export type PurgeReport = {
  readonly namespaceId: string;
  /** The name that the namespace has since it was deleted. */
  readonly namespace: string;
  /** `purged` while the entry stays for a while. */
  readonly state: 'grace' | 'purging' | 'purged';
  /** Deleted by this process. */
  readonly executions: number;
  readonly nextStepTimeMs: number;
  readonly trouble?: string;
};

export class NamespacePurge {
  readonly #options: NamespacePurgeOptions;
  readonly #rounds: Rounds;
  readonly #progress: NowAndThen;
  /** Workflows, schedules and batch jobs that this process has deleted, of namespaces that are not purged yet. */
  readonly #deleted = new Map<string, number>();
  /** Why it is not purged, or not removed, since it was tried last. */
  readonly #troubles = new Map<string, string>();
  /** Run ids. They are left out until a pass has come to its end, so that those behind them have their turn. */
  readonly #unanswered = new Set<string>();
  /** Where the next pass begins: the last one did not come further. Counts from 1. */
  #firstShard = 1;
  /** How long the last pass took to come to its last deletion. */
  #walkedMs = 0;
  readonly #triedMs = new Map<string, number>();
  #lastFailure = '';

  constructor(options: NamespacePurgeOptions) {
    this.#options = options;
    const { clock, logger, cluster } = options;
    this.#rounds = new Rounds({
      dueInMs: () => this.#dueInMs(),
      round: async () => ((await this.#round()) ? undefined : this.#lastFailure),
      retryDelayMsMax: RETRY_DELAY_MS_MAX,
      quietTries: QUIET_TRIES,
      clock,
      logger,
      tellWaiting: (tries, reason) =>
        logger.warn('deleted namespaces wait to be purged', { namespaces: cluster.view.deletions.size, tries, reason }),
      failed: 'deleted namespaces cannot be purged, and wait',
    });
    this.#progress = new NowAndThen(clock, TELL_INTERVAL_MS);
  }

  look(): void {
    this.#rounds.look();
  }

  close(): void {
    this.#rounds.close();
  }

  #dueInMs(): number {
    const { cluster, clock } = this.#options;
    let nextMs = Infinity;
    for (const deletion of cluster.view.deletions.values()) nextMs = Math.min(nextMs, nextStepMs(deletion));
    if (nextMs === Infinity) this.#unanswered.clear();
    return nextMs - clock.wallMs();
  }

  /** False: something is left, and is tried again after a pause. */
  async #round(): Promise<boolean> {
    const tried = new Set<string>();
    let isDone = true;
    this.#lastFailure = 'there was no time for all of them';
    for (let left = this.#left(tried); left.size > 0 && !this.#rounds.isClosed; left = this.#left(tried)) {
      const pass = await this.#walk(left);
      // It has left some out.
      if (this.#rounds.isClosed) return false;
      const empty = [...left].filter((id) => !pass.found.has(id));
      isDone = (await this.#each(empty, (id) => (tried.add(id), this.#purged(id)))) && isDone;
      // Nothing but failures: another pass would find the same. To be over is none.
      const isVain = pass.deleted === 0 && (pass.failure !== undefined || !pass.isOver);
      if (pass.found.size > 0 && isVain) {
        this.#lastFailure = pass.failure ?? this.#lastFailure;
        isDone = false;
        break;
      }
      // A large one is purged for hours.
      if (pass.found.size > 0) await this.#removed();
    }
    return (await this.#removed()) && isDone;
  }

  /** Removes the entries of purged namespaces, those first that were tried longest ago. False: some are left. */
  async #removed(): Promise<boolean> {
    const due = this.#due().flatMap((deletion) => (isToPurge(deletion) ? [] : [deletion.id]));
    for (const id of this.#triedMs.keys()) if (!due.includes(id)) this.#triedMs.delete(id);
    const tried = (id: string): number => this.#triedMs.get(id) ?? -1;
    return this.#each(
      due.toSorted((one, other) => tried(one) - tried(other)),
      (id) => {
        this.#triedMs.set(id, this.#options.clock.monoMs());
        return this.#forgottenAt(id);
      },
    );
  }

  #due(): readonly NamespaceDeletion[] {
    const { cluster, clock } = this.#options;
    const nowMs = clock.wallMs();
    return [...cluster.view.deletions.values()].filter((deletion) => nextStepMs(deletion) <= nowMs);
  }

  /** The namespaces that the next pass walks, with those that became due since the last one. */
  #left(tried: ReadonlySet<string>): ReadonlySet<string> {
    return new Set(this.#due().flatMap((deletion) => (isToPurge(deletion) && !tried.has(deletion.id) ? [deletion.id] : [])));
  }

  async #each(ids: readonly string[], act: (id: string) => Promise<boolean>): Promise<boolean> {
    const { clock, endsMsMax = ENDS_MS_MAX } = this.#options;
    const untilMs = clock.monoMs() + endsMsMax;
    let isDone = true;
    await someAtATime(ids, ENDS_AT_A_TIME, async (id) => {
      const isInTime = !this.#rounds.isClosed && clock.monoMs() < untilMs;
      isDone = isInTime && (await act(id)) && isDone;
    });
    return isDone;
  }

  async #walk(left: ReadonlySet<string>): Promise<PurgePass> {
    const { settings, passMsMax = PASS_MS_MAX } = this.#options;
    const { perSecondOfEach, concurrencyMax } = settings();
    const perSecond = perSecondOfEach * concurrencyMax;
    // At least half of the time is for deletions, however long it takes to come to them.
    const msMax = Math.max(passMsMax, this.#walkedMs);
    const share = Math.max(1, Math.floor((perSecond * msMax) / 1_000 / left.size));
    const pass = new PurgePass({ share, msMax, clock: this.#options.clock });
    await this.#walkShards(left, pass, new BatchPace(this.#options.clock, perSecond));
    this.#walkedMs = pass.walkedMs;
    return pass;
  }

  async #walkShards(left: ReadonlySet<string>, pass: PurgePass, pace: BatchPace): Promise<void> {
    const { historyShards } = this.#options;
    const first = this.#firstShard;
    for (let nth = 0; nth < historyShards && !this.#rounds.isClosed; nth++) {
      const shard = ((first - 1 + nth) % historyShards) + 1;
      const wasOver = pass.isOver;
      await this.#walkShard(shard, left, pass, () => pace.turn());
      const hasEnded = pass.hasEnded(left.size);
      // The next pass begins behind the shard that took the time, or with that in which the last had its share.
      if (pass.isOver && !wasOver) this.#firstShard = (shard % historyShards) + 1;
      if (hasEnded && !pass.isOver) this.#firstShard = shard;
      if (hasEnded) return;
    }
    if (!pass.isOver) this.#unanswered.clear();
  }

  /** What it reads of a shard's table leaves the shard and its database time for others. */
  async #walkShard(shard: number, left: ReadonlySet<string>, pass: PurgePass, turn: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    for (let from: RunKeysPlace | undefined = { isInTable: false, afterRunId: '' }; from !== undefined && !this.#rounds.isClosed;) {
      const askedMs = clock.monoMs();
      const page: HistoryAnswer<ListRunKeys> = await this.#runKeys(shard, left, from);
      if (page.kind !== 'runKeys') {
        const reason = `the runs of shard ${shard} are not known: ${refusalMessage(page)}`;
        for (const id of left) this.#troubles.set(id, reason);
        return pass.couldNotSee(left, reason);
      }
      const restMs = from.isInTable ? Math.min(RESTS * (clock.monoMs() - askedMs), REST_MS_MAX) : 0;
      if (restMs > 0) await new Promise<void>((resolve) => void clock.after(restMs, resolve));
      const deleteOne = async (key: RunKey): Promise<void> => {
        if (this.#rounds.isClosed || this.#isLeftOut(key, pass) || !pass.take(key.namespaceId)) return;
        await turn();
        await this.#delete(shard, key, pass);
      };
      await pass.deleting(() => someAtATime(page.keys, this.#options.settings().concurrencyMax, deleteOne));
      this.#tellProgress(left);
      if (pass.hasEnded(left.size)) return;
      from = page.next;
    }
  }

  #runKeys(shard: number, left: ReadonlySet<string>, from: RunKeysPlace): Promise<HistoryAnswer<ListRunKeys>> {
    const { asker, clock } = this.#options;
    return new Promise((resolve) => {
      asker.askHistory(shard, { kind: 'listRunKeys', namespaceIds: [...left], from }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), resolve);
    });
  }

  #isLeftOut({ runId, namespaceId }: RunKey, pass: PurgePass): boolean {
    if (!this.#unanswered.has(runId)) return false;
    pass.found.add(namespaceId);
    pass.failure ??= 'deletions are not answered';
    return true;
  }

  async #delete(shard: number, key: RunKey, pass: PurgePass): Promise<void> {
    const { asker, clock, answerMsMax = DELETION_MS_MAX } = this.#options;
    type Answer = HistoryAnswer<{ readonly kind: 'deleteWorkflow'; readonly key: RunKey }>;
    const answer = await new Promise<Answer>((resolve) => {
      asker.askHistory(shard, { kind: 'deleteWorkflow', key, isPurge: true }, ownWork(clock.monoMs() + answerMsMax), resolve);
    });
    if (answer.kind !== 'done') pass.giveBack(key.namespaceId);
    if (!isAskFailure(answer) && answer.kind === 'rejected' && answer.rejection.reason === 'workflow-not-found') return;
    pass.found.add(key.namespaceId);
    if (answer.kind === 'done') {
      pass.deleted += 1;
      this.#deleted.set(key.namespaceId, (this.#deleted.get(key.namespaceId) ?? 0) + 1);
    } else {
      pass.failure = isAskFailure(answer) ? `${answer.kind}: ${answer.message}` : answer.rejection.reason;
      if (answer.kind === 'deadline' && this.#unanswered.size < UNANSWERED_KEPT) this.#unanswered.add(key.runId);
      this.#troubles.set(key.namespaceId, `workflow ${key.workflowId} of shard ${shard} is not deleted: ${pass.failure}`);
    }
  }

  /** No shard has anything of it. False: some task queue has, or it is not recorded. */
  async #purged(id: string): Promise<boolean> {
    const { cluster, logger } = this.#options;
    this.#troubles.delete(id);
    const namespace = cluster.view.namespaceById(id)?.name ?? '';
    if (!(await this.#forgottenAt(id))) return false;
    logger.info('a deleted namespace was purged', { namespaceId: id, namespace, executions: this.#deleted.get(id) ?? 0 });
    this.#deleted.delete(id);
    return true;
  }

  /** True: all hosts of task queues have forgotten it, and its next step is recorded. The second time finds what was on its way to them. */
  async #forgottenAt(id: string): Promise<boolean> {
    const { clock } = this.#options;
    const untilMs = clock.monoMs() + DRAIN_MS_MAX;
    if (!(await drainQueues(id, { ...this.#options, isOver: () => this.#rounds.isClosed || clock.monoMs() >= untilMs }))) {
      return this.#waits(id, `task queues of namespace ${id} have tasks left`);
    }
    const problem = await forgetNamespace(id, this.#options, this.#options.answerMsMax);
    if (problem !== undefined) return this.#waits(id, problem);
    return (await this.#end(id)) || this.#waits(id, 'its next step could not be recorded');
  }

  #waits(id: string, trouble: string): false {
    this.#lastFailure = trouble;
    this.#troubles.set(id, trouble);
    return false;
  }

  /** False: it is not recorded, or not yet. */
  async #end(id: string): Promise<boolean> {
    const { asker, clock, cluster } = this.#options;
    const before = cluster.view.deletions.get(id);
    const isAnswered = await new Promise<boolean>((resolve) => {
      asker.askCluster({ kind: 'endNamespace', id }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), ({ kind }) => resolve(kind === 'done'));
    });
    const isRecorded = isAnswered && cluster.view.deletions.get(id) !== before;
    if (isRecorded) this.#troubles.delete(id);
    return isRecorded;
  }

  report(): readonly PurgeReport[] {
    const { cluster, clock } = this.#options;
    const nowMs = clock.wallMs();
    return [...cluster.view.deletions.values()].map((deletion) => {
      const { id } = deletion;
      const trouble = this.#troubles.get(id);
      return {
        namespaceId: id,
        namespace: cluster.view.namespaceById(id)?.name ?? '',
        state: !isToPurge(deletion) ? 'purged' : nextStepMs(deletion) > nowMs ? 'grace' : 'purging',
        executions: this.#deleted.get(id) ?? 0,
        nextStepTimeMs: nextStepMs(deletion),
        ...(trouble === undefined ? {} : { trouble }),
      };
    });
  }

  #tellProgress(left: ReadonlySet<string>): void {
    const executions = [...left].reduce((sum, id) => sum + (this.#deleted.get(id) ?? 0), 0);
    if (executions > 0 && this.#progress.now())
      this.#options.logger.info('deleted namespaces are being purged', { namespaces: left.size, executions });
  }
}

function isToPurge({ purgedAtMs }: NamespaceDeletion): boolean {
  return purgedAtMs === undefined;
}
