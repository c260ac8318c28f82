/** When a task that fails becomes a letter, as operators set it; the keys and defaults are in src/config/dead-letter-settings.ts. */

export type CaptureSettings = {
  /** False: what fails is tried for ever, and makes no letter. */
  readonly enabled: boolean;
  readonly internalErrorsArePermanent: boolean;
  /** Undefined: none. What it matches is permanent, whatever kind of failure that is. */
  readonly errorPattern: { readonly matches: (text: string) => boolean } | undefined;
  /** Failures that count, before a task is a letter; at least 1. */
  readonly failuresMax: number;
  /** A limit of their own for tasks of one category. */
  readonly transferFailuresMax: number | undefined;
  readonly timerFailuresMax: number | undefined;
  readonly replicationFailuresMax: number;
};

export function failuresMaxOf(category: string, settings: CaptureSettings): number {
  const { failuresMax, transferFailuresMax, timerFailuresMax, replicationFailuresMax } = settings;
  switch (category) {
    case 'transfer':
      return transferFailuresMax ?? failuresMax;
    case 'timer':
      return timerFailuresMax ?? failuresMax;
    case 'replication':
      return replicationFailuresMax;
    default:
      return failuresMax;
  }
}
