/** What a flood did to others, by what was seen of it. */
import type { FloodPlan } from './flood.ts';
import type { FloodedServer, FloodReport } from './flooded-server.ts';

/** A machine that does much else may starve the victim too: then once more. What a server lets a flood do, it lets it do each time. */
const attempts = 3;
/** On a machine that answers at once without the flood; else three times what it takes then. */
const liveMsMax = 500;

/** On a processor. Asked before each attempt: a machine is not equally fast all the time. */
export type TurnMsMax = (plan: FloodPlan) => Promise<number>;

type Report = FloodReport & { readonly turnMsMax: number };

/** Those that there were in each attempt, with what was seen. */
export async function harmsOf(server: FloodedServer, turnMsMaxOf: TurnMsMax, plan: FloodPlan): Promise<Harms> {
  const reports: Report[] = [];
  for (;;) {
    const turnMsMax = await turnMsMaxOf(plan);
    reports.push({ ...(await server.under(plan)), turnMsMax });
    const harms = lastingHarms(reports);
    if (harms.length === 0 || reports.length === attempts)
      return { harms, seen: JSON.stringify(reports), told: reports.at(-1)?.told ?? '' };
  }
}

/** `told`: what the flood said last. */
export type Harms = { readonly harms: readonly string[]; readonly seen: string; readonly told: string };

function lastingHarms(reports: readonly Report[]): readonly string[] {
  const harms = [
    { harm: 'the victim is slower than half', isNone: ({ paceRatio, processorShare }: Report) => paceRatio >= 0.5 * processorShare },
    { harm: '/health/live is slow', isNone: ({ liveMs, calmLiveMs }: Report) => liveMs <= Math.max(liveMsMax, 3 * calmLiveMs) },
    { harm: 'a turn is long', isNone: ({ turnMs, turnMsMax }: Report) => turnMs <= turnMsMax },
  ];
  return harms.filter(({ isNone }) => !reports.some(isNone)).map(({ harm }) => harm);
}
