/** What actors need of the machine they run on. The simulation has twins of these; nothing else in this folder knows the time. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** For records: milliseconds since 1970, may jump. */
  wallMs(): number;
  /** For deadlines and intervals: never goes back. */
  monoMs(): number;
  after(delayMs: number, callback: () => void): Timer;
  /** Once the current callback has returned, before any I/O. */
  soon(callback: () => void): void;
  /** Once the current callback has returned and no promise is left that can go on, before any I/O. */
  settled(callback: () => void): void;
}

export interface Random {
  /** 128 bits as text, for names that must differ. */
  nonce(): string;
  /** From 0 up to, not including, 1. */
  fraction(): number;
}
