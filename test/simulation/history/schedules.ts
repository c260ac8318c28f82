/**
 * Clients that make schedules of a second, and ask things of them; in calm each schedule is paused, comes to rest, and is deleted:
 *
 *     create ─▶ trigger, backfill, pause, unpause, update, delete and create … ─▶ pause ─▶ nothing is under way ─▶ delete
 *
 * What they start are workflows like all others of the run.
 */
import type { ScheduleDescription } from '../../../src/history/commands/schedule-commands.ts';
import { type SchedulePatch } from '../../../src/schedules/changes.ts';
import { keptAs } from '../../../src/schedules/schedule-id.ts';
import { overlapPolicy } from '../../../src/schedules/schedule.ts';
import { createSchedule, type Defined, patchSchedule, updateSchedule } from '../../history/schedule-commands.ts';
import { check } from '../oracle.ts';
import type { Prng } from '../prng.ts';
import type { World } from '../world.ts';
import { uuid } from './cluster.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import { checkSchedules } from './schedule-oracle.ts';
import { type Load, namespaceId, simpleInput } from './load.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';

export type SchedulesPlan = { readonly schedules: number; readonly askEveryMs: number };

const RESTS_AGAIN_MS = 200;
const policies = Object.values(overlapPolicy).filter((policy) => policy !== overlapPolicy.unspecified);

type Schedule = { readonly key: RunKey; readonly workflowId: string };

export class Schedules {
  readonly #load: Load;
  readonly #world: World;
  readonly #random: Prng;
  readonly #schedules: readonly Schedule[];
  /** Those that are not deleted for good. */
  #left: number;
  #asked = 0;
  /** Times of triggers and backfills, each of which may start one workflow. */
  #timesByHand = 0;

  constructor(load: Load, world: World, plan: SchedulesPlan) {
    this.#load = load;
    this.#world = world;
    this.#random = world.random;
    this.#left = plan.schedules;
    this.#schedules = Array.from({ length: plan.schedules }, (_, nth) => ({
      key: { namespaceId, workflowId: keptAs(`schedule-${nth}`), runId: '' },
      workflowId: `scheduled-${nth}`,
    }));
    for (const schedule of this.#schedules) this.#create(schedule, () => this.#ask(schedule, plan.askEveryMs));
  }

  get areGone(): boolean {
    return this.#left === 0;
  }

  /** I23, of all journals. Answers how many workflows were begun. */
  check(records: readonly HistoryRecord[]): number {
    const { begun, byHand } = checkSchedules(records);
    check(byHand <= this.#timesByHand, 'I23 acted twice', () => `${byHand} by hand, of ${this.#timesByHand} that were asked for`);
    return begun;
  }

  #create({ key, workflowId }: Schedule, done: () => void): void {
    const command = createSchedule({
      ...{ key, requestId: this.#id(), newRunId: uuid(this.#random), retentionMs: this.#random.pick([300, 60_000]) },
      defined: this.#defined(workflowId),
    });
    this.#load.untilAnswered(key, command, done);
  }

  #defined(workflowId: string): Defined {
    return {
      intervalMs: 1_000,
      policies: { overlapPolicy: this.#random.pick(policies), pauseOnFailure: this.#random.chance(0.2) },
      workflow: { workflowId, input: simpleInput(this.#random), workflowTaskTimeoutMs: 500 },
    };
  }

  /** One thing after the other. */
  #ask(schedule: Schedule, everyMs: number): void {
    this.#world.at(this.#random.int(1, everyMs * 2), () => {
      if (this.#load.isOver) return this.#end(schedule);
      this.#askOne(schedule, () => this.#ask(schedule, everyMs));
    });
  }

  #askOne(schedule: Schedule, done: () => void): void {
    const { key, workflowId } = schedule;
    const policy = this.#random.pick([...policies, overlapPolicy.unspecified]);
    switch (this.#random.pick(['trigger', 'trigger', 'backfill', 'pause', 'unpause', 'unpause', 'update', 'anew'] as const)) {
      case 'trigger':
        this.#timesByHand += 1;
        return this.#patch(key, { trigger: { timeMs: 0, overlapPolicy: policy } }, done);
      case 'backfill': {
        // Before time began: nobody takes them for those of the spec.
        const [fromMs, seconds] = [this.#random.int(1, 900) * 1_000, this.#random.int(0, 12)];
        this.#timesByHand += seconds + 1;
        return this.#patch(key, { backfills: [{ fromMs, toMs: fromMs + seconds * 1_000, overlapPolicy: policy }] }, done);
      }
      case 'pause':
        return this.#patch(key, { pause: 'for a while' }, done);
      case 'unpause':
        return this.#patch(key, { unpause: 'on' }, done);
      case 'update':
        return this.#load.untilAnswered(key, updateSchedule({ key, requestId: this.#id(), defined: this.#defined(workflowId) }), done);
      case 'anew':
        return this.#load.untilAnswered(key, { kind: 'deleteSchedule', key }, () => this.#create(schedule, done));
    }
  }

  #patch(key: RunKey, patch: Partial<SchedulePatch>, done: () => void): void {
    this.#load.untilAnswered(key, { ...patchSchedule(patch, this.#id()), key }, done);
  }

  #end({ key }: Schedule): void {
    this.#patch(key, { pause: 'it is over' }, () => this.#deleteAtRest(key));
  }

  #deleteAtRest(key: RunKey): void {
    this.#load.untilAnswered(key, { kind: 'describeSchedule', key }, (answer) => {
      if (answer.kind !== 'scheduleDescription') throw new Error(`a schedule is ${answer.kind}`);
      if (isAtRest(answer)) this.#load.untilAnswered(key, { kind: 'deleteSchedule', key }, () => (this.#left -= 1));
      else this.#world.at(RESTS_AGAIN_MS, () => this.#deleteAtRest(key));
    });
  }

  #id(): string {
    this.#asked += 1;
    return `schedule-request-${this.#asked}`;
  }
}

function isAtRest({ progress: { buffered, starting, running, backfills } }: ScheduleDescription): boolean {
  return buffered.length + starting.length + running.length + backfills.length === 0;
}

export function schedulesPlan(random: Prng): SchedulesPlan {
  return { schedules: random.int(1, 3), askEveryMs: random.pick([50, 300, 1_000]) };
}
