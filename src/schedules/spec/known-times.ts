/** The times of a schedule that every step asks for again: due next, and those behind, for lists. What was hard to find is kept. */
import type { CompiledSpec } from './compiled-spec.ts';
import { type DueTime, nextTime } from './next-time.ts';
import { SearchSteps } from './search-steps.ts';

type Known = {
  readonly afterMs: number;
  readonly time: DueTime | undefined;
  /** Why it is not known. */
  readonly problem: string | undefined;
};

/** Some 20 µs. Most specs take fewer, and keep nothing. */
const hardSteps = 100;
/** The next, those that lists show, and as many again that a backfill asks for. */
const knownMax = 16;

export class KnownTimes {
  readonly #spec: CompiledSpec;
  readonly #keptFromSteps: number;
  /** What is known, in the order in which it was found. */
  readonly #known: Known[] = [];

  constructor(spec: CompiledSpec, keptFromSteps = hardSteps) {
    this.#spec = spec;
    this.#keptFromSteps = keptFromSteps;
  }

  next(afterMs: number, turn: SearchSteps): DueTime | undefined {
    const known = this.#known.find((one) => isAnswer(one, afterMs));
    if (known !== undefined) return told(known, turn);
    const steps = new SearchSteps();
    const time = nextTime(this.#spec, afterMs, steps);
    const { taken, problem } = steps;
    turn.take(taken);
    const found = { afterMs, time, problem };
    if (taken < this.#keptFromSteps) return told(found, turn);
    this.#known.push(found);
    if (this.#known.length > knownMax) this.#known.shift();
    return told(found, turn);
  }
}

function told({ time, problem }: Known, turn: SearchSteps): DueTime | undefined {
  if (problem !== undefined) turn.giveUp(problem);
  return time;
}

/**
 * Where there is nothing from one moment on, there is nothing from later ones. A time is that of its moment alone: where clocks are set back, the
 * search of another may find another. So is a search that was given up: from later on there may be fewer exclusions in its way.
 */
function isAnswer({ afterMs: fromMs, time, problem }: Known, afterMs: number): boolean {
  return time === undefined && problem === undefined ? afterMs >= fromMs : afterMs === fromMs;
}
