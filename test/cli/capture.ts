import { runCli } from '../../src/cli/run.ts';
import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';

export type Run = { readonly code: number; readonly out: string; readonly err: string; readonly started: readonly ServerOptions[] };

/** Runs one command line in this process, with a server that notes its options and fails at once, so that nothing keeps running. */
export async function run(line: readonly string[], env: Readonly<Record<string, string | undefined>> = {}): Promise<Run> {
  let out = '';
  let err = '';
  const started: ServerOptions[] = [];
  const code = await runCli(line, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env,
    outTaken: async () => true,
    leaveThreads: () => {},
    terminal: { columns: undefined, showsErrors: false, answers: false, ask: async () => undefined },
    loadServer: async () => ({
      startServer: async (options: ServerOptions): Promise<RunningServer> => {
        started.push(options);
        throw new Error('the test wants no server');
      },
      tryStart: async () => [],
    }),
  });
  return { code, out, err, started };
}
