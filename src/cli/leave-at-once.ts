import { existsSync } from 'node:fs';
import type { ExitCode } from './command.ts';

const shell = '/bin/sh';

/**
 * Ends the process while threads may be busy. `process.exit` waits until each thread has left its current statement or write, which
 * may take minutes; supervisors wait ten seconds. Replacing the process image ends all threads at once and keeps the exit
 * code. If that is not possible, SIGKILL ends the process.
 */
export function leaveAtOnce(code: ExitCode): never {
  if (process.execve !== undefined && existsSync(shell)) process.execve(shell, [shell, '-c', `exit ${code}`], {});
  process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
