/** Everything else is loaded after the check: an older Node may fail on newer syntax, with a message that does not help. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  process.stderr.write(
    `perdure: needs Node 24.12 or newer, this is ${process.version}.\nStart it with bin/perdure, which picks the pinned Node.\n`,
  );
  process.exit(1);
}

// A closed reader (`perdure … | head`) is not an error. A server continues without its terminal, and while the disk of its log is full.
let outputLost: Error | undefined;
let hasReader = true;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  hasReader = false;
  if (error.code !== 'EPIPE') outputLost = error;
});
process.stderr.on('error', () => {});

/** A pipe takes 64 KiB at a time. A slow reader gets the rest as well, but one that stopped reading delays the end only for this long. */
const OUTPUT_WAIT_MS_MAX = 10_000;

async function outputWritten(): Promise<void> {
  const written = [process.stdout, process.stderr].map((stream) => new Promise<void>((resolve) => void stream.write('', () => resolve())));
  await Promise.race([Promise.all(written), new Promise((resolve) => void setTimeout(resolve, OUTPUT_WAIT_MS_MAX))]);
  // The outcome of the last write is known one turn later.
  await new Promise((resolve) => void setImmediate(resolve));
}

let waitsForThreads = true;
const { runCli } = await import('./run.ts');
const code = await runCli(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  loadServer: () => import('../server.ts'),
  outTaken: async () => {
    // An empty write calls back once everything before it is written or lost.
    if (process.stdout.writableNeedDrain) await new Promise<void>((resolve) => void process.stdout.write('', () => resolve()));
    return hasReader;
  },
  leaveThreads: () => (waitsForThreads = false),
  terminal: {
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    showsErrors: process.stderr.isTTY === true,
    answers: process.stdin.isTTY === true && process.stderr.isTTY === true,
    ask: async (question) => (await import('./ask-line.ts')).askLine(question),
  },
});
await outputWritten();
if (outputLost !== undefined) {
  process.stderr.write(`perdure: the output could not be written: ${outputLost.message}\n`);
  await outputWritten();
}
const exitCode = code === 0 && outputLost !== undefined ? 1 : code;
if (!waitsForThreads) (await import('./leave-at-once.ts')).leaveAtOnce(exitCode);
process.exit(exitCode);
