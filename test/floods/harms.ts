/** What a flood did to others, by what was seen of it. */
import type { FloodedServer, FloodPlan, FloodReport } from './flooded-server.ts';

/** A machine that does much else may starve the victim too: then once more. What a server lets a flood do, it lets it do each time. */
const attempts = 3;
/** On a machine that answers at once without the flood; else three times what it takes then. */
const liveMsMax = 500;

/** Those that there were in each attempt, with what was seen. `turnMsMax`: on a processor. */
export async function harmsOf(server: FloodedServer, turnMsMax: number, plan: FloodPlan): Promise<Harms> {
  const reports: FloodReport[] = [];
  for (;;) {
    reports.push(await server.under(plan));
    const harms = lastingHarms(reports, turnMsMax);
    if (harms.length === 0 || reports.length === attempts)
      return { harms, seen: JSON.stringify(reports), told: reports.at(-1)?.told ?? '' };
  }
}

/** `told`: what the flood said last. */
export type Harms = { readonly harms: readonly string[]; readonly seen: string; readonly told: string };

function lastingHarms(reports: readonly FloodReport[], turnMsMax: number): readonly string[] {
  const harms = [
    { harm: 'the victim is slower than half', isNone: ({ paceRatio }: FloodReport) => paceRatio >= 0.5 },
    { harm: '/health/live is slow', isNone: ({ liveMs, calmLiveMs }: FloodReport) => liveMs <= Math.max(liveMsMax, 3 * calmLiveMs) },
    { harm: 'a turn is long', isNone: ({ turnMs }: FloodReport) => turnMs <= turnMsMax },
  ];
  return harms.filter(({ isNone }) => !reports.some(isNone)).map(({ harm }) => harm);
}
