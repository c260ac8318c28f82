/**
 * Asks one target after another until one answers. A slow one may still answer, but the next one is asked beside it:
 *
 *     first  ──────────── silent ───────────────────────▶
 *     second      └ hedgeMs ─▶ refuses
 *     third                    └─▶ answers: this is the result
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Rejects when everybody has refused, with what each said (AggregateError), in the order of their refusals. */
export async function firstAnswer<Target, Answer>(
  targets: readonly Target[],
  ask: (target: Target) => Promise<Answer>,
  hedgeMs: number,
): Promise<Answer> {
  const refusals: unknown[] = [];
  const answered = Promise.withResolvers<Answer>();
  let done = false;
  const askOne = async (target: Target): Promise<void> => {
    try {
      answered.resolve(await ask(target));
      done = true;
    } catch (error) {
      refusals.push(error);
      if (refusals.length === targets.length) answered.reject(new AggregateError(refusals, 'nobody answered'));
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
  if (targets.length === 0) answered.reject(new AggregateError(refusals, 'nobody answered'));
  return await answered.promise;
}
