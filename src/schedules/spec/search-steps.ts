/** How long searches may go on, so that no spec, however odd, holds up everybody else on its shard. */

/**
 * Of one search, which nothing interrupts. A day that is looked at, a calendar or an exclusion that is asked, is a step: some 200 ns. The search
 * for the 29th of February that is a Sunday takes 300; a spec of as many entries as there may be, 20,000 for each time that is excluded.
 */
export const searchStepsMax = 100_000;
/** Steps for all searches of a list together. */
export const listStepsMax = 1_500_000;
/** Steps for the searches in one step of a schedule, or for the times that are shown of it: no other is begun when they are spent. */
export const turnStepsMax = 10_000;

export class SearchSteps {
  readonly #max: number;
  #taken = 0;
  #problem: string | undefined;

  constructor(stepsMax = Infinity) {
    this.#max = stepsMax;
  }

  /** False: there were not as many left. */
  take(steps: number): boolean {
    this.#taken += steps;
    return !this.areSpent;
  }

  get taken(): number {
    return this.#taken;
  }

  get areSpent(): boolean {
    return this.#taken > this.#max;
  }

  /** A search ended without an answer: there may be a time, which nobody knows. */
  giveUp(problem: string): void {
    this.#problem = problem;
  }

  /** Why the last search that was given up was; undefined: each has found its time, or that there is none. */
  get problem(): string | undefined {
    return this.#problem;
  }
}

/** Temporal's message. */
export const tooManyExclusions = 'the schedule calendar specification has too many exclusions. Please modify the specification.';
