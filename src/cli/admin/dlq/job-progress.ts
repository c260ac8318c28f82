/** The progress of jobs, on stderr: one line that is overwritten on a terminal, else a line every ten seconds if the log level is info. */
import type { Counts } from '../../../wire/generated/api/deadletter/service.ts';
import type { FlagValues } from '../../command.ts';
import type { Io } from '../../io.ts';
import { span } from '../../printed-time.ts';
import type { OperationName } from './operation.ts';

const terminalIntervalMs = 500;
const logIntervalMs = 10_000;
const silentIntervalMs = 30_000;
const barChars = 20;

const gerunds: Readonly<Record<OperationName, string>> = { merge: 'merging', purge: 'purging', restore: 'restoring' };

export class JobProgress {
  readonly intervalMs: number;
  readonly #io: Io;
  readonly #form: 'terminal' | 'log' | 'none';
  readonly #beganMs = Date.now();
  #handledAtStart: number | undefined;
  #shownMs = -Infinity;
  #shownChars = 0;

  constructor(io: Io, flags: FlagValues) {
    this.#io = io;
    const isInfo = ['debug', 'info'].includes(flags.one('log-level') ?? 'warn');
    const isQuiet = flags.switched('quiet') === true;
    this.#form = io.terminal.showsErrors ? (isQuiet ? 'none' : 'terminal') : isInfo ? 'log' : 'none';
    this.intervalMs = { terminal: terminalIntervalMs, log: logIntervalMs, none: silentIntervalMs }[this.#form];
  }

  show(counts: Counts, operation: OperationName): void {
    const { selected, merged, purged, restored, failed, skipped, gone } = counts;
    const handled = merged + purged + restored + failed + skipped + gone;
    this.#handledAtStart ??= handled;
    const nowMs = Date.now();
    if (this.#form === 'none' || (this.#form === 'log' && nowMs - this.#shownMs < logIntervalMs)) return;
    this.#shownMs = nowMs;
    const perSecond = ((handled - this.#handledAtStart) * 1_000) / Math.max(1, nowMs - this.#beganMs);
    const left = perSecond > 0 ? `, ${rate(perSecond)}/s, ${span(((selected - handled) / perSecond) * 1_000)} left` : '';
    const text = `${gerunds[operation]}: ${handled} of ${selected}${failed === 0 ? '' : `, failed ${failed}`}${left}`;
    if (this.#form === 'log') this.#io.err(`${text}\n`);
    else this.#overwrite(`${bar(selected === 0 ? 0 : handled / selected)} ${text}`);
  }

  clear(): void {
    if (this.#shownChars > 0) this.#io.err(`\r${' '.repeat(this.#shownChars)}\r`);
    this.#shownChars = 0;
  }

  #overwrite(text: string): void {
    this.#io.err(`\r${text.padEnd(this.#shownChars)}`);
    this.#shownChars = text.length;
  }
}

function rate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}

function bar(share: number): string {
  const full = Math.round(Math.min(1, share) * barChars);
  return `[${'#'.repeat(full)}${'-'.repeat(barChars - full)}]`;
}
