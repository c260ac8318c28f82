/** Where a user could tell two servers apart that were asked the same program. */
import { type Difference, differences } from './compare.ts';
import type { Judge } from './known-differences.ts';
import type { Program } from './program.ts';
import type { Seen } from './run-program.ts';

export type Finding = { readonly signature: string; readonly line: string; readonly program: Program; readonly step: number };

const nothing: Seen = { what: '', request: {}, step: 0, value: undefined };

/** Those of the first answer that differs: whatever differs later follows from it, as a rule. */
export function findings(judge: Judge, program: Program, mine: readonly Seen[], other: readonly Seen[]): readonly Finding[] {
  const count = Math.max(mine.length, other.length);
  for (let index = 0; index < count; index++) {
    const { what, request, step } = mine[index] ?? other[index] ?? nothing;
    const asked = { what, request, before: program.steps.slice(0, step + 1) };
    const { reported, ends } = judge.judged(asked, differences(mine[index]?.value, other[index]?.value));
    if (reported.length > 0 || ends) return reported.map((difference) => finding(what, difference, program, step));
  }
  return [];
}

function finding(what: string, { path, ours, theirs }: Difference, program: Program, step: number): Finding {
  const line = `${what} ${path}\n    ours   ${short(ours)}\n    theirs ${short(theirs)}`;
  return { signature: line.replaceAll(/\([0-9a-f]{8}\)|\d+/g, '#'), line, program, step };
}

function short(value: unknown, length = 300): string {
  const text = (JSON.stringify(value) ?? 'undefined').replaceAll(/x{20,}/g, 'x…x');
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
