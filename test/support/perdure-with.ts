/**
 * `perdure`, but with options that no flag and no file sets, for a test that is in a hurry or wants things small:
 *
 *     node perdure-with.ts '{"topicWatchIntervalMs":500}' server start …
 */
import { flushCompileCache } from 'node:module';
import { runCli } from '../../src/cli/run.ts';
import type { ServerOptions } from '../../src/config/server-options.ts';

export type HiddenOptions = Pick<ServerOptions, 'topicWatchIntervalMs' | 'stateLimits' | 'devFaults' | 'archival'> & {
  /** As if each actor lived in a process of its own: asks-through-codecs.ts. */
  readonly asks?: 'as bytes';
};

const [given = '{}', ...line] = process.argv.slice(2);
const { asks, ...hidden } = JSON.parse(given) as HiddenOptions;
if (asks === 'as bytes') await import('./asks-through-codecs.ts');
const code = await runCli(line, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  outTaken: async () => true,
  leaveThreads: () => {},
  terminal: { columns: undefined, showsErrors: false, answers: false, ask: async () => undefined },
  loadServer: async () => {
    const { startServer, ...tries } = await import('../../src/server.ts');
    return {
      startServer: async (options) => {
        const started = await startServer({ ...options, ...hidden });
        // Now, for this process may be killed.
        flushCompileCache();
        return started;
      },
      ...tries,
    };
  },
});
process.exit(code);
