/**
 * The actor of jobs in its real loop over a log, beside a queue of which the test decides what happens to whom. The queue is its core and
 * what the core writes; its index is always up to date.
 */
import { createHash } from 'node:crypto';
import { isAskFailure, ownWork } from '../../../src/actors/asks/asks.ts';
import { Router, JOBS_ACTOR, type JobsAnswer } from '../../../src/actors/asks/router.ts';
import type { Endpoint } from '../../../src/actors/asks/switchboard.ts';
import { JobsHost } from '../../../src/actors/deadletters/jobs/jobs-host.ts';
import type { DeadLetterReply, DeadLetterRequest, IdRange, MergeOutcome, SettleLetter } from '../../../src/deadletters/letter-commands.ts';
import type { ReadPurged } from '../../../src/deadletters/letter-commands.ts';
import { failedAsBefore } from '../../../src/deadletters/failed-merge.ts';
import { countIds, hasId } from '../../../src/deadletters/bounds/id-ranges.ts';
import type { Job, JobsReplyTo, JobsRequest, PlanLetters } from '../../../src/deadletters/jobs/job.ts';
import type { Letter } from '../../../src/deadletters/letter.ts';
import { type QueueHandled, QueueCore } from '../../../src/deadletters/queue-core.ts';
import { letterRow, type DeadLetterRecord, type ResolvedRecord } from '../../../src/deadletters/letter-records.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { dlqJobsCodec } from '../../../src/codec/dlq-jobs-codec.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { planOf, queue } from '../../deadletters/jobs/plans.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { turns } from '../../support/event-loop.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';

const HAND_OVER = 100;
const jobsPartition = { topic: 'test.dlq-jobs', partition: 0 } as const;

export class TestQueue {
  readonly clock: HandClock;
  readonly journal: DeadLetterRecord[] = [];
  readonly letters = new Map<number, Letter>();
  /** As long as its purges can be undone. */
  readonly #purged = new Map<number, { readonly letter: Letter; readonly jobId: string }>();
  #core = new QueueCore();
  #answer: (askId: number, reply: DeadLetterReply) => void = () => {};
  /** Undefined: it is merged. */
  outcomeOf: (messageId: number) => MergeOutcome | undefined = () => undefined;
  #incarnation = 1;
  mergeMs = 10;
  /** Letters in each. */
  readonly purges: number[] = [];
  readonly merges: { readonly messageId: number; readonly atMs: number }[] = [];
  /** Letters whose tasks are executed now, and the most there were. */
  executing = new Set<number>();
  mostExecuting = 0;
  /** Of requests: nobody is there, or what is asked happens and the answer is lost. */
  fault: (request: DeadLetterRequest) => 'away' | 'answer lost' | undefined = () => undefined;

  constructor(clock: HandClock, letters: number) {
    this.clock = clock;
    for (let first = 0; first < letters; first += HAND_OVER) {
      const count = Math.min(HAND_OVER, letters - first);
      const batch = Array.from({ length: count }, (_, index) => letterOf(1, first + index + 1));
      this.#handle(this.#core.handle({ kind: 'acceptLetters', shard: 1, letters: batch }, 0, 1));
    }
  }

  get resolved(): readonly ResolvedRecord[] {
    return this.journal.filter((record) => record.kind === 'resolved');
  }

  /** Its topic is deleted, and the next owner makes it anew: nothing of before is left. */
  beginAnew(letters: number): void {
    this.journal.length = 0;
    this.letters.clear();
    this.#purged.clear();
    this.executing = new Set();
    this.#core = new QueueCore(undefined, (this.#incarnation += 1));
    const batch = Array.from({ length: letters }, (_, index) => letterOf(1, 501 + index));
    this.#handle(this.#core.handle({ kind: 'acceptLetters', shard: 1, letters: batch }, 0, 1));
  }

  /** Another process owns it: claims and merges are forgotten. */
  takeOver(): void {
    this.#core = new QueueCore();
    for (const record of this.journal) this.#core.evolve(record);
    this.executing = new Set();
  }

  /** Its shard tells the owner, while no job has claimed it, what has come of an earlier merge. */
  settledEarlier(messageId: number, outcome: SettleLetter['outcome'] = { kind: 'merged', how: 'merged', generation: 0 }): void {
    this.#handle(this.#core.handle({ kind: 'noteOutstanding', messageIds: [messageId] }, this.clock.wallMs(), 0));
    const nth = this.#core.maySettle(messageId);
    if (nth === undefined) throw new Error(`message ${messageId} is claimed`);
    this.#handle(this.#core.handle({ kind: 'settleLetter', messageId, nth, outcome }, this.clock.wallMs(), 0));
  }

  /** For a process: what it asks after its end does not come. */
  endpoint(router: Router, isAlive: () => boolean): Endpoint<DeadLetterRequest> {
    const sink = router.deadLetters.sink(queue.number);
    const answer = (askId: number, reply: DeadLetterReply): void => void (isAlive() && sink.answer(askId, reply));
    const fail = (askId: number): void => void (isAlive() && sink.fail(askId, { kind: 'unavailable', message: 'it is taken over' }));
    return {
      submit: (askId, request) => {
        if (!isAlive()) return undefined;
        this.#answer = answer;
        if (request.kind === 'purgeLetters') this.purges.push(request.letters.length);
        const fault = this.fault(request);
        if (fault === 'away') return { kind: 'notHere', message: 'nobody is there', hint: '', epoch: 0 };
        if (fault === 'answer lost') {
          this.clock.soon(() => {
            this.#submit(0, request);
            fail(askId);
          });
        } else this.clock.soon(() => this.#submit(askId, request));
        return undefined;
      },
      cancel: (askId) => this.#handle(this.#core.cancel(askId)),
    };
  }

  #submit(askId: number, request: DeadLetterRequest): void {
    const decided = this.#core.handle(request, this.clock.wallMs(), askId);
    this.#handle(decided);
    if (decided.kind !== 'wait' && decided.reply !== undefined) this.#answer(askId, decided.reply);
  }

  #handle(decided: QueueHandled): void {
    this.#core.accept(decided);
    const records = decided.kind === 'commit' ? [...(decided.before ?? []), decided.record] : [];
    for (const record of records) {
      this.journal.push(record);
      if (record.kind === 'letter') this.letters.set(record.messageId, record.letter);
      if (record.kind !== 'resolved') continue;
      const { messageId, how, jobId } = record;
      const letter = this.letters.get(messageId);
      if (how === 'purged' && letter !== undefined) this.#purged.set(messageId, { letter, jobId });
      this.letters.delete(messageId);
    }
    for (const effect of decided.effects) {
      if (effect.kind === 'reply') this.#answer(effect.askId, effect.reply);
      if (effect.kind === 'readIndex') this.#answer(effect.askId, this.#read(effect.request));
      if (effect.kind === 'readPurged') this.#readPurged(effect);
      if (effect.kind === 'executeLetter') this.#execute(effect.messageId, effect.jobId);
    }
  }

  #readPurged({ askId, request }: ReadPurged): void {
    const isWanted = (id: number): boolean => {
      const { purgedBy } = request;
      return this.#core.state.ids.statusOf(id) === 'purged' && (purgedBy === undefined || this.#purged.get(id)?.jobId === purgedBy);
    };
    if (request.kind === 'findPurged') {
      const ids = [...this.#purged.keys()].filter((id) => hasId(request.ids, id) && isWanted(id)).sort((one, other) => one - other);
      return this.#answer(askId, { kind: 'purgedFound', ids, lost: [] });
    }
    const { jobId, who, why } = request;
    const letters = request.messageIds.filter(isWanted).flatMap((messageId) => {
      const { letter } = this.#purged.get(messageId) ?? {};
      return letter === undefined ? [] : [{ messageId, letter: { ...letter, jobId } }];
    });
    this.#handle(this.#core.handle({ kind: 'putBack', askId, authorship: { jobId, who, why }, letters, lost: [] }, this.clock.wallMs(), 0));
  }

  #execute(messageId: number, jobId: string): void {
    const { executing } = this;
    const core = this.#core;
    const letter = this.letters.get(messageId);
    // As LetterExecution has it: a job tries a letter once.
    if (letter?.jobId === jobId) {
      const outcome: MergeOutcome = { kind: 'unsettled', letter, error: letter.failure, isSameCause: failedAsBefore(letter) };
      return this.#handle(core.handle({ kind: 'finishMerge', messageId, outcome }, this.clock.wallMs(), 0));
    }
    executing.add(messageId);
    this.mostExecuting = Math.max(this.mostExecuting, executing.size);
    this.merges.push({ messageId, atMs: this.clock.nowMs });
    this.clock.after(this.mergeMs, () => {
      executing.delete(messageId);
      if (core !== this.#core) return;
      const outcome = this.outcomeOf(messageId) ?? { kind: 'merged', how: 'merged', generation: 0 };
      const told: MergeOutcome = outcome.kind === 'failed' ? { ...outcome, letter: { ...outcome.letter, jobId } } : outcome;
      this.#handle(core.handle({ kind: 'finishMerge', messageId, outcome: told }, this.clock.wallMs(), 0));
    });
  }

  #read(request: DeadLetterRequest): DeadLetterReply {
    if (request.kind === 'groupLetters') return { kind: 'groups', groups: [] };
    if (request.kind !== 'findLetters' && request.kind !== 'listLetters') throw new Error(`nobody asks for ${request.kind}`);
    const { afterMessageId, max } = request;
    const all = [...this.letters].filter(([id]) => id > afterMessageId).sort(([one], [other]) => one - other);
    const found = all.slice(0, max);
    const isLast = found.length === all.length;
    if (request.kind === 'findLetters') {
      return { kind: 'letterIds', ids: found.map(([messageId, { generation }]) => ({ messageId, generation })), isLast };
    }
    const letters = found.map(([messageId, letter]) => ({
      row: letterRow({ kind: 'letter', timeMs: 0, messageId, letter }, { sourceCluster: 'active', offset: 0 }),
      content: request.withContent ? { value: letter.task.value, headers: [], letter, problem: '' } : undefined,
    }));
    return { kind: 'letters', letters, isLast };
  }
}

/** A letter that has failed once more. */
export function failedOf(queue: TestQueue, messageId: number): MergeOutcome {
  const letter = queue.letters.get(messageId) ?? letterOf(1, messageId + 1);
  return { kind: 'failed', isSameCause: false, letter: { ...letter, generation: letter.generation + 1 } };
}

export class JobsWorld {
  readonly clock = new HandClock();
  readonly log = new MemoryLog();
  readonly random = new SeededRandom();
  readonly queue: TestQueue;
  /** It tells an audit, and none is there. */
  isAuditAway = false;
  settings = { requiresReason: false, lettersPerStepMax: 100 };
  #router = new Router(this.clock);
  #lives = 0;

  constructor(letters: number) {
    this.queue = new TestQueue(this.clock, letters);
  }

  /** A process; the one before is dead, whatever it had under way. */
  async start(): Promise<void> {
    this.#router.close();
    const life = (this.#lives += 1);
    const router = (this.#router = new Router(this.clock));
    router.deadLetters.attach(
      queue.number,
      this.queue.endpoint(router, () => this.#lives === life),
    );
    const host = new JobsHost({
      topic: 'test.dlq-jobs',
      owner: 'test',
      log: this.log,
      codec: dlqJobsCodec('test'),
      claims: jsonClaims,
      sink: router.jobs.sink(JOBS_ACTOR),
      clock: this.clock,
      random: this.random,
      logger: silentLogger,
      onStatus: () => {},
      asker: router,
      sha256: (text) => createHash('sha256').update(text).digest('hex'),
      settings: () => this.settings,
      ...(this.isAuditAway ? { audit: { asker: router, queueTopic: (category: string) => `dlq.test.${category}.active` } } : {}),
    });
    router.jobs.attach(JOBS_ACTOR, host);
    host.actor.start();
    for (let { state, reason } = host.actor.status(); state !== 'active'; { state, reason } = host.actor.status()) {
      if (state === 'failed') throw new Error(reason);
      await this.pass(10);
    }
  }

  async bounds(): Promise<{ readonly start: number; readonly end: number }> {
    return await this.log.bounds(jobsPartition);
  }

  /** Somebody deletes records. */
  async cutElsewhere(): Promise<void> {
    await this.log.truncate(jobsPartition, (await this.bounds()).end - 1);
  }

  /** As the log has it. */
  windowEnd(): number {
    const records = this.log.records(jobsPartition).filter(({ type }) => type === 'DeadLetterJob');
    const last = records.at(-1);
    const record = last && dlqJobsCodec('test').decode(last.value, last.schema, last);
    return record?.kind === 'job' ? record.entry.window.end : -1;
  }

  async ask<Request extends JobsRequest>(request: Request): Promise<JobsReplyTo[Request['kind']]> {
    let given: JobsAnswer<JobsRequest> | undefined;
    this.#router.askJobs(request, ownWork(FAR_AWAY_MS), (answer) => (given = answer));
    while (given === undefined) await this.pass(1);
    if (isAskFailure(given)) throw new Error(given.message);
    if (given.kind === 'rejected') throw new Error(`${given.rejection.reason}: ${given.rejection.message}`);
    return given as JobsReplyTo[Request['kind']];
  }

  async begin(more: Partial<PlanLetters>, ids?: readonly IdRange[]): Promise<string> {
    const { plan } = await this.ask(planOf({ ...more, selection: { ids, condition: undefined } }));
    const { job } = await this.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    return job.jobId;
  }

  async job(jobId: string): Promise<Job> {
    return (await this.ask({ kind: 'describeJob', jobId })).job;
  }

  async change(kind: 'pauseJob' | 'resumeJob' | 'cancelJob', jobId: string): Promise<Job> {
    return (await this.ask({ kind, jobId, actor: 'bert', reason: '' })).job;
  }

  /** In small steps, so that what one timer brings has time to happen before the next. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      this.clock.advance(Math.min(10, ms - passed));
      await turns(4);
    }
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.pass(10);
  }

  async ended(jobId: string): Promise<Job> {
    for (let seconds = 0; seconds < 2_000; seconds++) {
      const job = await this.job(jobId);
      if (job.endTimeMs !== undefined) return job;
      await this.pass(200);
    }
    throw new Error(`it ends in the end: ${JSON.stringify(await this.job(jobId))}`);
  }
}

/** Nothing is counted twice, or not at all. */
export function sumOf({ counts, ids }: Job): readonly [number, number] {
  const { merged, purged, restored, failed, skipped, gone, notTried } = counts;
  return [merged + purged + restored + failed + skipped + gone + notTried, countIds(ids)];
}
