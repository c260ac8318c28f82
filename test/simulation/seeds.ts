/** Seed after seed of one kind of run: the first that is broken is told as it can be repeated, and of the others what they came by. */
import type { SimOutcome } from './sim-run.ts';

export class Totals {
  runs = 0;
  answered = 0;
  /** Runs in which nobody was answered anything. */
  quiet = 0;
  checkpoints = 0;
  /** Workflows that schedules have begun. */
  actions = 0;
  /** Batch jobs that have completed. */
  jobs = 0;
  readonly injected = new Map<string, number>();
  readonly reached = new Map<string, number>();

  add({
    answered,
    checkpoints,
    actions,
    jobs,
    injected,
    reached,
  }: SimOutcome & { readonly checkpoints?: number; readonly actions?: number; readonly jobs?: number }): void {
    this.runs += 1;
    this.answered += answered;
    if (answered === 0) this.quiet += 1;
    this.checkpoints += checkpoints ?? 0;
    this.actions += actions ?? 0;
    this.jobs += jobs ?? 0;
    for (const [kind, times] of injected) this.injected.set(kind, (this.injected.get(kind) ?? 0) + times);
    for (const moment of reached) this.reached.set(moment, (this.reached.get(moment) ?? 0) + 1);
  }
}

/** `kind`: as `one.ts` knows it. */
export async function runSeeds(from: number, count: number, run: (seed: number) => Promise<SimOutcome>, kind: string): Promise<Totals> {
  const totals = new Totals();
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await run(seed);
    if (outcome.violation !== undefined) throw new Error(report(outcome, kind));
    totals.add(outcome);
  }
  return totals;
}

function report({ plan, violation, lastTrace }: SimOutcome, kind: string): string {
  return [
    `seed ${plan.seed}: ${violation?.message}`,
    JSON.stringify(plan),
    ...lastTrace.slice(-60),
    `repeat: npm exec -- node test/simulation/one.ts ${plan.seed} 1 ${kind}`,
  ].join('\n');
}
