import { HandClock } from './hand-clock.ts';

/** Whoever looks at it has worked for a millisecond since the look before: slices of work can be counted. */
export class WorkingClock extends HandClock {
  constructor() {
    super('when moved');
  }

  override monoMs(): number {
    this.nowMs += 1;
    return this.nowMs;
  }
}
