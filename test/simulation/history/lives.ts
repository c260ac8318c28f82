/**
 * Operators who reset workflows and pause them, while clients and workers go on; each has workflow ids of his own, and does one thing after the other:
 *
 *     describe ─▶ read to its end ─▶ reset … again, if it has grown since
 *             └─▶ pause ─▶ a while ─▶ unpause
 *
 * Whatever is paused when calm begins is unpaused then: nothing may have been lost by it.
 */
import { status } from '../../../src/history/generated/enums.ts';
import { decodeEvent } from '../../../src/codec/event-codec.ts';
import type { Description } from '../../../src/history/run/history-replies.ts';
import type { HistoryAnswer } from '../../../src/actors/asks/router.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { PrepareReset, ResetWorkflow } from '../../../src/history/commands/operation-commands.ts';
import type { Prng } from '../prng.ts';
import type { World } from '../world.ts';
import { partsOf, signalAttributes } from '../../history/shard-under-test.ts';
import { uuid } from './cluster.ts';
import { closeKinds } from './life-oracle.ts';
import { type Load, namespaceId, WORKFLOW_IDS } from './load.ts';

export type LivesPlan = {
  readonly operators: number;
  readonly askEveryMs: number;
  readonly resetShare: number;
  /** Of starts. */
  readonly eagerShare: number;
};

const READINGS_MAX = 20;
const REPEATED_SHARE = 0.3;
/** So many of what operators have asked are between two resets in parts. */
const PREPARED_EVERY = 2;
const EVENTS_OF_PART = 3;
const resettable: ReadonlySet<string> = new Set(['workflowTaskCompleted', 'workflowTaskFailed', 'workflowTaskTimedOut']);

export function livesPlan(random: Prng): LivesPlan {
  return {
    operators: random.int(1, 3),
    askEveryMs: random.pick([5, 20, 80]),
    resetShare: random.pick([0.3, 0.5, 1]),
    eagerShare: random.pick([0, 0.5, 1]),
  };
}

export class Lives {
  readonly #load: Load;
  readonly #world: World;
  readonly #random: Prng;
  readonly #plan: LivesPlan;
  #working: number;
  #asked = 0;
  resets = 0;
  resetsInParts = 0;
  pauses = 0;

  constructor(load: Load, world: World, plan: LivesPlan) {
    this.#load = load;
    this.#world = world;
    this.#random = world.random;
    this.#plan = plan;
    this.#working = plan.operators;
    for (let operator = 0; operator < plan.operators; operator++) this.#ask(operator);
  }

  get areIdle(): boolean {
    return this.#working === 0;
  }

  /** What stands still goes on. */
  unpause(keys: readonly RunKey[]): void {
    for (const key of keys) this.#unpause(key, () => {});
  }

  #ask(operator: number): void {
    const { operators, askEveryMs, resetShare } = this.#plan;
    this.#world.at(this.#random.int(1, askEveryMs * 2), () => {
      if (this.#load.isOver) return void (this.#working -= 1);
      const mine = Array.from({ length: WORKFLOW_IDS }, (_, index) => index + 1).filter((nth) => nth % operators === operator);
      const key = { namespaceId, workflowId: `wf-${this.#random.pick(mine)}`, runId: '' };
      const next = (): void => this.#ask(operator);
      this.#load.untilAnswered(key, { kind: 'describeWorkflow', key }, (answer) => {
        if (answer.kind !== 'description' || !isOpen(answer)) return next();
        if (this.#random.chance(resetShare)) {
          for (let signals = this.#random.int(0, 3); signals > 0; signals--) this.#signalSoon(answer.key);
          this.#reset(answer.key, this.#id('reset'), next);
        } else this.#pause(answer.key, next);
      });
    });
  }

  // ── Resets ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * As the edge does it: read to its end, and read again if it has grown. One that has closed by itself is left alone; if it has grown or closed since
   * the first try, that may have been the reset, and it is asked for again, from before the first command: children that ended are the edge's to tell of.
   */
  #reset(key: RunKey, requestId: string, done: () => void, readings = 1): void {
    this.#load.readAll(key, (encoded) => {
      const events = encoded.map(decodeEvent);
      const ends = events.filter(({ type }) => resettable.has(type));
      const last = events.at(-1);
      const isClosed = last !== undefined && closeKinds.has(last.type);
      const [first] = ends;
      if (first === undefined || (isClosed && readings === 1)) return done();
      const finish = isClosed ? first.eventId : this.#random.pick(ends).eventId;
      const reset = {
        kind: 'resetWorkflow',
        key,
        requestId,
        reason: 'simulated',
        isPrepared: false,
        keptEvents: encoded.slice(0, finish - 1),
        laterEvents: encoded.slice(finish - 1),
        readTo: { runId: key.runId, lastEventId: events.length },
        reappliesSignals: true,
        priorityChanges: [],
      } as const;
      // Each call of the edge brings a run id of its own.
      const command = () => ({ ...reset, newRunId: uuid(this.#random) });
      const isPrepared = this.#asked % PREPARED_EVERY === 0;
      const newRunId = isPrepared ? uuid(this.#random) : '';
      const ask = (last: () => ResetWorkflow): void => this.#load.untilAnswered(key, last, answered);
      const answered = (answer: HistoryAnswer<ResetWorkflow>): void => {
        if (answer.kind !== 'workflowReset') return done();
        if (answer.runId === '') return readings < READINGS_MAX ? this.#reset(key, requestId, done, readings + 1) : done();
        this.resets += 1;
        if (answer.runId === newRunId) this.resetsInParts += 1;
        this.#load.told.push({ kind: 'reset', runId: answer.runId, requestId });
        // As if this answer had been lost.
        if (!this.#load.isOver && this.#random.chance(REPEATED_SHARE)) this.#reset(key, requestId, done, readings + 1);
        else done();
      };
      if (!isPrepared) return ask(command);
      const parts = partsOf({ ...reset, newRunId }, EVENTS_OF_PART);
      this.#prepare(key, parts, () => ask(() => ({ ...reset, newRunId, isPrepared, keptEvents: [] })), answered);
    });
  }

  /** One part after the other. `otherwise`: the request has its run already, or is refused. What nobody goes on with is dropped in time. */
  #prepare(key: RunKey, parts: readonly PrepareReset[], ready: () => void, otherwise: (answer: HistoryAnswer<PrepareReset>) => void): void {
    const [part, ...others] = parts;
    if (part === undefined) return ready();
    this.#load.untilAnswered(key, part, (answer) => {
      if (answer.kind === 'workflowReset' && answer.runId === part.newRunId) this.#prepare(key, others, ready, otherwise);
      else otherwise(answer);
    });
  }

  /** While it is read and reset; whatever of it is accepted must be in the run that goes on. */
  #signalSoon(key: RunKey): void {
    const requestId = this.#id('signal');
    this.#world.at(this.#random.int(0, 80), () => {
      const signal = signalAttributes({ requestId });
      this.#load.untilAnswered(key, { kind: 'signalWorkflow', key, signal, childOf: undefined }, (answer) => {
        if (answer.kind === 'signaled') this.#load.told.push({ kind: 'signaled', runId: key.runId, requestId });
      });
    });
  }

  // ── Pauses ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #pause(key: RunKey, done: () => void): void {
    const requestId = this.#id('pause');
    this.#load.untilAnswered(key, { kind: 'pauseWorkflow', key, identity: 'operator', reason: 'simulated', requestId }, (answer) => {
      if (answer.kind !== 'done') return done();
      this.pauses += 1;
      this.#load.told.push({ kind: 'paused', runId: key.runId, requestId });
      this.#world.at(this.#random.pick([10, 200, 1_500]), () => this.#unpause(key, done));
    });
  }

  #unpause(key: RunKey, done: () => void): void {
    const requestId = this.#id('unpause');
    this.#load.untilAnswered(key, { kind: 'unpauseWorkflow', key, identity: 'operator', reason: 'simulated', requestId }, (answer) => {
      if (answer.kind === 'done') this.#load.told.push({ kind: 'unpaused', runId: key.runId, requestId });
      done();
    });
  }

  #id(what: string): string {
    this.#asked += 1;
    return `${what}-${this.#asked}`;
  }
}

function isOpen(description: Description): boolean {
  return description.status === status.running || description.status === status.paused;
}
