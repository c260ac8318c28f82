import { readFileSync, readdirSync } from 'node:fs';

/** A server under measurement. */
export type Target = {
  readonly name: string;
  readonly address: string;
  readonly namespace: string;
  /** Its processes, and those it depends on (database, broker); their children are counted with them. */
  readonly pids: readonly number[];
  /** Where it writes how late its event loop is; absent: nobody asked it to. */
  readonly loopDelayFile?: string;
};

const ticksPerSecond = 100;

/** CPU time, user and system, that a set of process trees has used so far. NaN: nobody said which, or none of them lives. */
export function cpuMsOf(pids: readonly number[]): number {
  if (!pids.some((pid) => statOf(pid) !== undefined)) return Number.NaN;
  let ticks = 0;
  for (const pid of withChildren(pids)) ticks += statOf(pid)?.ticks ?? 0;
  return (ticks / ticksPerSecond) * 1000;
}

/** Resident memory of a set of process trees; NaN as above. */
export function residentMiBOf(pids: readonly number[]): number {
  if (!pids.some((pid) => statOf(pid) !== undefined)) return Number.NaN;
  let kib = 0;
  for (const pid of withChildren(pids)) {
    const line = readOrUndefined(`/proc/${pid}/status`)?.match(/^VmRSS:\s+(\d+) kB$/m);
    kib += Number(line?.[1] ?? 0);
  }
  return kib / 1024;
}

function withChildren(pids: readonly number[]): ReadonlySet<number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? statOf(pid) : undefined;
    if (stat !== undefined) parents.set(pid, stat.parent);
  }
  const family = new Set(pids);
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid, parent] of parents) {
      if (family.has(parent) && !family.has(pid)) {
        family.add(pid);
        grew = true;
      }
    }
  }
  return family;
}

/** `pid (name) state ppid …`, where the name may hold anything; user and system ticks are fields 14 and 15. */
function statOf(pid: number): { readonly parent: number; readonly ticks: number } | undefined {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
