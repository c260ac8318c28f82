/** How long a search may go on, so that no spec, however odd, holds up everybody else on its shard. */

/**
 * A day that is looked at, a calendar or an exclusion that is asked, is a step: some 200 ns. The search for the 29th of February that is a Sunday
 * takes 300; a spec of as many entries as there may be, 100,000.
 */
export const searchStepsMax = 500_000;
/** Of all searches of a list together. */
export const listStepsMax = 1_500_000;

export class SearchSteps {
  #left: number;

  constructor(stepsMax: number) {
    this.#left = stepsMax;
  }

  /** False: there are not as many left. */
  take(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }

  get areSpent(): boolean {
    return this.#left < 0;
  }
}
