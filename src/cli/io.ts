import type { RunningServer, ServerOptions } from '../config/server-options.ts';

/** What a command may touch of its process; tests hand in their own. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly loadServer: () => Promise<ServerModule>;
};

/** The one function of the server that the command line knows. */
export type ServerModule = { readonly startServer: (options: ServerOptions) => Promise<RunningServer> };
