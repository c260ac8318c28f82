import type { LogOptions, RunningServer, ServerOptions, Tried } from '../config/server-options.ts';

/** What a command may touch of its process; tests hand in their own. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly loadServer: () => Promise<ServerModule>;
  /** Until whoever reads has taken what was printed, so that a long list is never in memory; false when nobody reads any more. */
  readonly outTaken: () => Promise<boolean>;
  readonly terminal: Terminal;
  /** The process is about to end, and its threads may be busy: nobody waits for them. */
  readonly leaveThreads: () => void;
};

/** What of the three streams is a terminal, and what it answers. */
export type Terminal = {
  /** Of what is printed; undefined where that is no terminal. */
  readonly columns: number | undefined;
  readonly showsErrors: boolean;
  readonly answers: boolean;
  /** Prints a question beside the output and waits for a line; undefined: it ended, or was interrupted. */
  readonly ask: (question: string) => Promise<string | undefined>;
};

/** What the command line knows of the server. */
export type ServerModule = {
  readonly startServer: (options: ServerOptions) => Promise<RunningServer>;
  readonly tryStart: (
    log: LogOptions & { readonly kind: 'kafka' },
    layout: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions'>,
  ) => Promise<readonly Tried[]>;
};
