/** What Linux says about processes that others started for us. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Ids of the processes whose arguments hold all of these, in this order and next to each other. */
export function processesWith(...line: readonly string[]): readonly number[] {
  const wanted = `\0${line.join('\0')}\0`;
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && (readOr(`/proc/${pid}/cmdline`, () => '') ?? '').includes(wanted));
}

/** The arguments of a process, its own name first. */
export function argumentsOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
}

/** What a process holds open: files, sockets, pipes, by kind (`socket:`, `anon_inode:[eventpoll]`, a path). */
export function openHandles(pid: number): ReadonlyMap<string, number> {
  const kinds = new Map<string, number>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const kind = linkOr(`/proc/${pid}/fd/${fd}`).replace(/:\[\d+\]$/, '');
    if (kind !== '') kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

export function residentMiB(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(line ?? Number.NaN) / 1024;
}

/** A process may end between two looks. */
function readOr(path: string, otherwise: () => string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise();
  }
}

/** The descriptor with which the folder itself is read is gone by then. */
function linkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
