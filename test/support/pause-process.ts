import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ChildProcess } from 'node:child_process';

const WAIT_MS_MAX = 5_000;

/** When `kill` returns, the signal is only on its way: threads that still run may answer a request. Returns when all have stopped. */
export function pauseProcess(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return;
  child.kill('SIGSTOP');
  const threads = `/proc/${child.pid}/task`;
  const startedMs = performance.now();
  while (existsSync(threads) && readdirSync(threads).some((thread) => runs(`${threads}/${thread}/stat`))) {
    if (performance.now() - startedMs > WAIT_MS_MAX) throw new Error(`process ${child.pid} does not stop`);
  }
}

/** `pid (name) state …`: T is stopped; a thread that is gone does not run either. */
function runs(stat: string): boolean {
  try {
    const line = readFileSync(stat, 'utf8');
    return !['T', 't', 'Z', 'X'].includes(line.charAt(line.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
