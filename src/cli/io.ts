import type { LogOptions, RunningServer, ServerOptions, Tried } from '../config/server-options.ts';

/** What a command uses of its process; tests pass their own. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly loadServer: () => Promise<ServerModule>;
  /** Resolves once the reader has taken what was printed, so that a long list is never in memory; false if there is no reader any more. */
  readonly outTaken: () => Promise<boolean>;
  readonly terminal: Terminal;
  /** Says that the process must end without waiting for its threads, which may be busy. */
  readonly leaveThreads: () => void;
};

export type Terminal = {
  /** The width of the terminal on stdout; undefined if stdout is none. */
  readonly columns: number | undefined;
  readonly showsErrors: boolean;
  readonly answers: boolean;
  /** Prints a question on stderr and waits for a line; undefined if the input ended or was interrupted. */
  readonly ask: (question: string) => Promise<string | undefined>;
};

export type ServerModule = {
  readonly startServer: (options: ServerOptions) => Promise<RunningServer>;
  readonly tryStart: (
    log: LogOptions & { readonly kind: 'kafka' },
    layout: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions'>,
  ) => Promise<readonly Tried[]>;
};
