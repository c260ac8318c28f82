/**
 * Asks one target after another until one answers. A slow one may still answer, but the next one is asked beside it:
 *
 *     first  ──────────── silent ───────────────────────▶
 *     second      └ hedgeMs ─▶ refuses
 *     third                    └─▶ answers: this is the result
 */

import { setTimeout as pause } from 'node:timers/promises';

/** Everybody refused. In the order of their refusals. */
export class NobodyAnswered<Target> extends Error {
  override readonly name = 'NobodyAnswered';
  readonly failures: readonly { readonly target: Target; readonly error: unknown }[];

  constructor(failures: readonly { readonly target: Target; readonly error: unknown }[]) {
    super('nobody answered', { cause: failures[0]?.error });
    this.failures = failures;
  }
}

export async function firstAnswer<Target, Answer>(
  targets: readonly Target[],
  ask: (target: Target) => Promise<Answer>,
  hedgeMs: number,
): Promise<Answer> {
  const failures: { readonly target: Target; readonly error: unknown }[] = [];
  const answered = Promise.withResolvers<Answer>();
  let done = false;
  const askOne = async (target: Target): Promise<void> => {
    try {
      answered.resolve(await ask(target));
      done = true;
    } catch (error) {
      failures.push({ target, error });
      if (failures.length === targets.length) answered.reject(new NobodyAnswered(failures));
    }
  };
  void (async () => {
    for (const target of targets) {
      const patience = new AbortController();
      await Promise.race([askOne(target), pause(hedgeMs, undefined, { signal: patience.signal }).catch(() => {})]);
      patience.abort();
      if (done) return;
    }
  })();
  if (targets.length === 0) answered.reject(new NobodyAnswered(failures));
  return await answered.promise;
}
