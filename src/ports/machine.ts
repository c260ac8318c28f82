/** What actors and projections need of the machine they run on. The simulation has twins of these; but for system-ports.ts nothing else knows the time. */
import type { Logger } from '../observability/logger.ts';

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, for records. It may jump. */
  wallMs(): number;
  /** Milliseconds for deadlines and intervals. It never goes back. */
  monoMs(): number;
  after(delayMs: number, callback: () => void): Timer;
  /** Calls back once the current callback has returned, before any I/O. */
  soon(callback: () => void): void;
  /** Calls back once the current callback has returned and no promise is left that can go on, before any I/O. */
  settled(callback: () => void): void;
}

export interface Random {
  /** 128 bits as text, for names that must differ. */
  nonce(): string;
  /** A number from 0 up to, but not including, 1. */
  fraction(): number;
}

/** What most parts of an actor are given, whatever else they need. */
export type ClockAndLogger = { readonly clock: Clock; readonly logger: Logger };
