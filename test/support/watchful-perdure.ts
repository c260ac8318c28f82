/** `perdure`, but it looks at its topics on Kafka after every so many milliseconds, not minutes: `node watchful-perdure.ts 500 server start …`. */
import { runCli } from '../../src/cli/run.ts';

const [intervalMs, ...line] = process.argv.slice(2);
const code = await runCli(line, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  loadServer: async () => {
    const { startServer, tryBrokers } = await import('../../src/server.ts');
    return { startServer: (options) => startServer({ ...options, topicWatchIntervalMs: Number(intervalMs) }), tryBrokers };
  },
});
process.exit(code);
