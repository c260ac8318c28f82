/**
 * Clients and workers of a run. What is asked for is asked for again until there is a definite answer, so that in calm every workflow ends:
 *
 *     start ─▶ [workflow task] ─▶ activities, timers, a child ─▶ [workflow task] … until all are done and all signals there ─▶ completed,
 *                                                                                                         or continued as new,
 *                                                                         or, in another run, once more: after a failure, on a schedule
 *
 * A worker knows nothing but the history that it reads, page by page.
 */
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { decodeEvent } from '../../../src/codec/event-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { completion } from '../../history/completion.ts';
import {
  activityRef,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  scheduleActivity,
  signalAttributes,
  startAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
} from '../../history/shard-under-test.ts';
import { type HistoryCluster, uuid } from './cluster.ts';
import type { Told } from './oracle.ts';
import type { Prng } from '../prng.ts';
import type { World } from '../world.ts';
import type { HistoryAnswer } from '../../../src/actors/asks/router.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryRequest, SignalAttributes, StartWorkflow } from '../../../src/history/commands/history-commands.ts';
import type { EventKind, HistoryEvent } from '../../../src/history/run/events.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import type { WorkflowCommand } from '../../../src/history/commands/workflow-commands.ts';
import type { AddTask } from '../../../src/matching/matching-commands.ts';

export const namespaceId = '00000000-0000-4000-8000-0000000000aa';
const queue = { name: 'queue', kind: 1, normalName: '' };
const ASK_MS = 500;
/** A run's row leaves it to history. */
const largeInput = new Uint8Array(4_200);
/** Few ids, so that they are used again and again. */
export const WORKFLOW_IDS = 12;

const EMPTY_PAGES_MAX = 50;

/** What a workflow does, as its input says. */
type Program = {
  readonly activities: number;
  readonly timersMs: readonly number[];
  readonly child: string;
  readonly signals: number;
  /** Runs that follow this one. */
  readonly more: number;
  /** Attempts that fail, by a retry policy. */
  readonly failures: number;
  /** Runs of a cron schedule; 0 = there is none. */
  readonly ticks: number;
};

/** Nothing is known of what became of it, or nothing came of it yet. */
const undecided: ReadonlySet<string> = new Set(['unavailable', 'notHere', 'deadline', 'busy', 'dataLoss']);

export class Load {
  readonly told: Told[] = [];
  readonly #cluster: HistoryCluster;
  readonly #world: World;
  readonly #random: Prng;
  #isOver = false;
  #asksOpen = 0;
  #lastId = 0;
  #unanswered = 0;
  /** An answer that no correct server gives. */
  onBug: (message: string) => void = () => {};

  constructor(cluster: HistoryCluster) {
    this.#cluster = cluster;
    this.#world = cluster.world;
    this.#random = cluster.world.random;
    cluster.onOffer = (request) => this.#offered(request);
  }

  /** Somebody still waits for an answer. */
  get isBusy(): boolean {
    return this.#asksOpen > 0;
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  /** No faults are injected any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  client(): void {
    this.#world.at(this.#random.int(1, 60), () => {
      if (this.#isOver) return;
      this.#start(() => this.client());
    });
  }

  /** No more starts, and workers die no more. */
  calm(): void {
    this.#isOver = true;
  }

  /** Until somebody can say how it is. */
  describe(key: RunKey): void {
    this.#untilAnswered(this.#shardOf(key.workflowId), { kind: 'describeWorkflow', key }, () => {});
  }

  /** What waits for what was purged waits for ever. */
  terminateAll(keys: readonly RunKey[]): void {
    for (const key of keys) this.#terminate(key);
  }

  // ── Clients ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(done: () => void): void {
    const program = this.#program();
    const key = { namespaceId, workflowId: `wf-${this.#random.int(1, WORKFLOW_IDS)}`, runId: '' };
    const requestId = this.#id('start');
    // Each call brings a run id of its own, and the policies of the first one.
    const policies = { reusePolicy: 1, conflictPolicy: this.#random.pick([1, 1, 1, 3] as const) } as const;
    const { lives } = this.#cluster.options;
    const eager = lives === undefined ? {} : { eager: this.#random.chance(lives.eagerShare) };
    const command = (): StartWorkflow => ({
      ...eager,
      kind: 'startWorkflow',
      key,
      namespace: 'ns',
      newRunId: uuid(this.#random),
      requestId,
      policies,
      parent: undefined,
      onConflict: undefined,
      start: startAttributes({ input: encoded(program), taskTimeoutMs: 500, ...againOf(program) }),
    });
    this.#untilAnswered(this.#shardOf(key.workflowId), command, (answer) => {
      if (answer.kind !== 'started') return done();
      const { runId } = answer;
      this.told.push({ kind: 'started', runId, requestId });
      if (answer.workflowTask !== undefined) {
        this.#cluster.said('a first task came with its start');
        this.#delivered(answer.workflowTask, requestId);
      }
      if (this.#random.chance(0.3)) this.#look({ ...key, runId });
      this.#signal({ ...key, runId }, program.signals, () => {
        if (this.#random.chance(0.1)) this.#terminate({ ...key, runId });
        if (this.#random.chance(0.1)) this.#delete({ ...key, runId });
        done();
      });
    });
  }

  #program(): Program {
    const { int, pick, chance } = this.#draw;
    const again = pick(['', '', '', '', 'retry', 'cron']);
    return {
      failures: again === 'retry' ? int(1, 2) : 0,
      ticks: again === 'cron' ? int(1, 3) : 0,
      activities: int(0, 2),
      timersMs: Array.from({ length: int(0, 2) }, () => pick([0, 30, 200, 800])),
      child: chance(0.3) ? `child-${int(1, 4)}` : '',
      // Signals are for the first run, and each has its own program.
      signals: again === '' ? pick([0, 0, 1, 2]) : 0,
      more: again === '' ? pick([0, 0, 0, 1, 2]) : 0,
    };
  }

  get #draw(): Pick<Prng, 'int' | 'pick' | 'chance'> {
    const random = this.#random;
    return {
      int: (low, high) => random.int(low, high),
      pick: (choices) => random.pick(choices),
      chance: (probability) => random.chance(probability),
    };
  }

  #signal(key: RunKey, times: number, done: () => void): void {
    if (times === 0) return done();
    const requestId = this.#id('signal');
    const signal = signalAttributes({ requestId });
    this.#untilAnswered(this.#shardOf(key.workflowId), { kind: 'signalWorkflow', key, signal, childOf: undefined }, (answer) => {
      if (answer.kind === 'signaled') this.told.push({ kind: 'signaled', runId: key.runId, requestId });
      // Another run goes on in its place, and waits for what this one was to be told.
      else if (this.#cluster.options.lives !== undefined) return this.#signalCurrent(key, signal, () => this.#signal(key, times - 1, done));
      this.#signal(key, times - 1, done);
    });
  }

  #signalCurrent({ namespaceId: ns, workflowId }: RunKey, signal: SignalAttributes, done: () => void): void {
    const key = { namespaceId: ns, workflowId, runId: '' };
    this.#untilAnswered(this.#shardOf(workflowId), { kind: 'signalWorkflow', key, signal, childOf: undefined }, (answer) => {
      if (answer.kind === 'signaled') this.told.push({ kind: 'signaledCurrent', requestId: signal.requestId });
      done();
    });
  }

  #terminate(key: RunKey): void {
    this.#untilAnswered(this.#shardOf(key.workflowId), { ...terminateWorkflow(), key }, () => {});
  }

  /** Asked again after an answer that was lost, it may be gone already. */
  #delete(key: RunKey): void {
    this.#untilAnswered(this.#shardOf(key.workflowId), deleteWorkflow(key), (answer) => {
      if (answer.kind === 'done') this.told.push({ kind: 'deleted', runId: key.runId });
    });
  }

  #look(key: RunKey): void {
    const position = { kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false } as const;
    this.#world.at(this.#random.int(1, 400), () => {
      this.#untilAnswered(this.#shardOf(key.workflowId), position, (answer) => {
        if (answer.kind === 'historyPosition') this.#read(key, [], answer.lastEventId, () => {});
      });
    });
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #offered({ kind, task }: AddTask): void {
    const { key, scheduledEventId, stamp, historyShard } = task;
    const poll = { pollRequestId: this.#id('poll'), identity: 'worker' };
    // Some wait for long: that they are stored is noted meanwhile.
    const waitMs = this.#random.chance(0.1) ? this.#random.int(1_000, 3_000) : this.#random.int(1, 40);
    this.#world.at(waitMs, () => {
      if (kind === 'addWorkflowTask') {
        const start = { kind: 'startWorkflowTask', key, scheduledEventId, stamp, taskQueue: queue, ...poll } as const;
        this.#untilAnswered(historyShard, start, (answer) => {
          if (answer.kind === 'workflowTask') this.#delivered(answer, poll.pollRequestId);
        });
      } else {
        const start = { kind: 'startActivityTask', key, scheduledEventId, stamp, workerVersion: undefined, ...poll } as const;
        this.#untilAnswered(historyShard, start, (answer) => {
          if (answer.kind === 'activityTask') this.#delivered(answer, poll.pollRequestId);
        });
      }
    });
  }

  #delivered(task: StartedWorkflowTask | StartedActivityTask, pollRequestId: string): void {
    const { kind, key, scheduledEventId, attempt, startedTimeMs } = task;
    // An attempt that was scheduled once more has the same numbers, and another time.
    const name = `${kind} ${scheduledEventId} of ${key.runId}, attempt ${attempt} of ${startedTimeMs}`;
    this.told.push({ kind: 'delivered', task: name, pollRequestId });
    // Its worker dies, and the task must time out.
    if (!this.#isOver && this.#random.chance(0.1)) return;
    if (kind === 'workflowTask') this.#play(task);
    else this.#endActivity(task);
  }

  #play(task: StartedWorkflowTask): void {
    const { key, historyFirstEventId, historyLastEventId, firstPage, tailEvents } = task;
    const page = historyFirstEventId === 1 && this.#random.chance(0.5) ? firstPage : undefined;
    this.#read(key, page ?? [], historyLastEventId, (events) => {
      const commands = this.#commands([...events, ...tailEvents].map(decodeEvent));
      const ids = { newRunId: uuid(this.#random), pollRequestId: this.#id('poll'), returnNewWorkflowTask: this.#random.chance(0.5) };
      this.#untilAnswered(this.#shardOf(key.workflowId), { ...completion(task, commands), ...ids }, (answer) => {
        if (answer.kind !== 'workflowTaskCompleted') return;
        this.told.push({ kind: 'workflowTaskCompleted', runId: key.runId, startedEventId: task.startedEventId });
        if (answer.workflowTask !== undefined) this.#delivered(answer.workflowTask, ids.pollRequestId);
      });
    });
  }

  #commands(events: readonly HistoryEvent[]): readonly WorkflowCommand[] {
    const [started] = events;
    if (started?.type !== 'workflowExecutionStarted') throw new Error(`a history begins with ${started?.type}`);
    const program = decoded(started.attributes.input);
    const count = (...kinds: readonly EventKind[]): number => events.filter(({ type }) => kinds.includes(type)).length;
    const { activities, timersMs, child, signals, more } = program;
    if (count('workflowTaskCompleted') === 0 && (activities + timersMs.length > 0 || child !== '')) {
      const retryPolicy = {
        initialIntervalMs: 50,
        backoffCoefficient: 1,
        maximumIntervalMs: 50,
        maximumAttempts: 0,
        nonRetryableErrorTypes: [],
      };
      const simple: Program = { activities: 1, timersMs: [], child: '', signals: 0, more: 0, failures: this.#random.int(0, 1), ticks: 0 };
      return [
        ...Array.from({ length: activities }, (_, index) =>
          scheduleActivity({
            activityId: `a${index}`,
            startToCloseTimeoutMs: 400,
            retryPolicy,
            input: index === 0 ? largeInput : undefined,
          }),
        ),
        ...timersMs.map((ms, index) => startTimer(`t${index}`, ms)),
        ...(child === ''
          ? []
          : [startChild({ workflowId: child, input: encoded(simple), parentClosePolicy: this.#random.int(0, 2), ...againOf(simple) })]),
      ];
    }
    const isDone =
      count('activityTaskCompleted') >= activities &&
      count('timerFired') >= timersMs.length &&
      count('workflowExecutionSignaled') >= signals &&
      (child === '' || count(...childEnds) > 0);
    if (!isDone) return [];
    const { attempt, lastCompletionResult } = started.attributes;
    if (attempt <= program.failures) return [failWorkflow];
    const tick = 1 + Number(new TextDecoder().decode(lastCompletionResult));
    if (program.ticks > 0) return [tick < program.ticks ? completeWorkflow(new TextEncoder().encode(`${tick}`)) : cancelWorkflow];
    return [more === 0 ? completeWorkflow() : continueAsNew({ input: encoded({ ...program, signals: 0, more: more - 1 }) })];
  }

  #endActivity(task: StartedActivityTask): void {
    const { key, scheduledEventId, attempt } = task;
    const result = `${scheduledEventId} attempt ${attempt}`;
    const activity = activityRef(task);
    const command = { kind: 'completeActivityTask', activity, result: new TextEncoder().encode(result), identity: 'worker' } as const;
    this.#world.at(this.#random.pick([1, 20, 300, 600]), () => {
      this.#untilAnswered(this.#shardOf(key.workflowId), command, (answer) => {
        if (answer.kind === 'done') this.told.push({ kind: 'activityCompleted', runId: key.runId, scheduledEventId, result });
      });
    });
  }

  // ── Reading ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `events`: those that are there already. */
  #read(
    key: RunKey,
    events: readonly Uint8Array[],
    lastEventId: number,
    done: (events: readonly Uint8Array[]) => void,
    isGone = (): void => {},
    emptyPages = 0,
  ): void {
    if (events.length >= lastEventId) {
      this.told.push({ kind: 'read', runId: key.runId, events });
      return done(events);
    }
    const size = { eventsMax: this.#random.pick([1, 3, 100]), bytesMax: this.#random.pick([200, 1_000_000]) };
    const page = { kind: 'readHistory', key, firstEventId: events.length + 1, lastEventId, ...size } as const;
    this.#untilAnswered(this.#shardOf(key.workflowId), page, (answer) => {
      if (answer.kind !== 'historyPage') return isGone();
      const more = answer.events.length;
      if (more > 0) return this.#read(key, [...events, ...answer.events], lastEventId, done, isGone, emptyPages);
      // An owner of earlier times, who does not know yet that it is none, does not know of every run.
      if (emptyPages === EMPTY_PAGES_MAX) {
        this.told.push({ kind: 'read', runId: key.runId, events: [] });
        isGone();
      } else this.#world.at(this.#random.int(20, 100), () => this.#read(key, events, lastEventId, done, isGone, emptyPages + 1));
    });
  }

  // ── Asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** From the first event to the last; none: it is not known any more. */
  readAll(key: RunKey, done: (events: readonly Uint8Array[]) => void): void {
    const position = { kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false } as const;
    this.#untilAnswered(this.#shardOf(key.workflowId), position, (answer) => {
      if (answer.kind === 'historyPosition') this.#read(key, [], answer.lastEventId, done, () => done([]));
      else done([]);
    });
  }

  /** As clients do. */
  untilAnswered<Request extends HistoryRequest>(
    key: RunKey,
    request: Request | (() => Request),
    done: (answer: HistoryAnswer<Request>) => void,
  ): void {
    this.#untilAnswered(this.#shardOf(key.workflowId), request, done);
  }

  /** `given`: what is asked; or what makes it, where it is another one each time. */
  #untilAnswered<Request extends HistoryRequest>(
    shard: number,
    given: Request | (() => Request),
    done: (answer: HistoryAnswer<Request>) => void,
  ): void {
    this.#asksOpen += 1;
    const request = typeof given === 'function' ? given() : given;
    this.#cluster.ask(shard, request, ASK_MS, (answer) => {
      this.#asksOpen -= 1;
      if (undecided.has(answer.kind)) {
        this.#unanswered += 1;
        this.#asksOpen += 1;
        this.#world.at(this.#random.int(5, 60), () => {
          this.#asksOpen -= 1;
          this.#untilAnswered(shard, given, done);
        });
      } else if (answer.kind === 'internal') this.onBug(`${request.kind}: ${answer.message}`);
      else done(answer);
    });
  }

  #shardOf(workflowId: string): number {
    return historyShardOf(namespaceId, workflowId, this.#cluster.options.shards);
  }

  #id(what: string): string {
    this.#lastId += 1;
    return `${what}-${this.#lastId}`;
  }
}

/** Each failure has an attempt after it. Only what is canceled leaves its schedule. */
function againOf({ failures, ticks }: Program): Pick<StartWorkflow['start'], 'retryPolicy' | 'cronSchedule'> {
  const maximumAttempts = failures + 1;
  const retryPolicy = {
    initialIntervalMs: 20,
    backoffCoefficient: 2,
    maximumIntervalMs: 1_500,
    maximumAttempts,
    nonRetryableErrorTypes: [],
  };
  return { retryPolicy: failures === 0 ? undefined : retryPolicy, cronSchedule: ticks === 0 ? '' : '@every 1s' };
}

const failWorkflow: WorkflowCommand = {
  type: 'failWorkflowExecution',
  userMetadata: undefined,
  attributes: {
    failure: {
      facts: { kind: 'application', type: 'T', nonRetryable: false, nextRetryDelayMs: 0, message: 'again' },
      bytes: historyWire.encodeFailure({
        message: 'again',
        cause: undefined,
        info: { kind: 'application', type: 'T', nonRetryable: false },
      }),
    },
  },
};

const cancelWorkflow: WorkflowCommand = { type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details: undefined } };

const childEnds: readonly EventKind[] = [
  'childWorkflowExecutionCompleted',
  'childWorkflowExecutionFailed',
  'childWorkflowExecutionTimedOut',
  'childWorkflowExecutionCanceled',
  'childWorkflowExecutionTerminated',
  'startChildWorkflowExecutionFailed',
];

/** Of a workflow that ends by itself, sooner or later. */
export function simpleInput(random: Prng): Uint8Array {
  const timersMs = random.pick([[], [], [200], [1_500]]);
  return encoded({ activities: random.int(0, 1), timersMs, child: '', signals: 0, more: random.pick([0, 0, 1]), failures: 0, ticks: 0 });
}

function encoded(program: Program): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(program));
}

function decoded(input: Uint8Array | undefined): Program {
  return JSON.parse(new TextDecoder().decode(input)) as Program;
}
