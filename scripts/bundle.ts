/**
 * Makes the program that bin/perdure starts: a few dozen files instead of some 350 modules, which is half of a start.
 *
 *     src/cli/main.ts and all that it reaches  ──▶  dist/program/main.js          what bin/perdure starts
 *                                                   dist/program/<name>-<hash>.js  parts that are loaded when they are needed, threads
 *                                                   dist/program/<name>-<hash>.js.lines.json  for stacks: see src/observability/stack.ts
 *                                                   dist/licenses.txt              of the packages that are in it
 *                                                   dist/stamp                     as old as the sources may be: see bin/perdure
 *
 *     node scripts/bundle.ts [FOLDER]
 *
 * The `dependencies` of package.json are required with `createRequire` when something needs them, so they stay in node_modules; all other
 * packages are in the bundle, and so development packages. What is imported dynamically stays a part of its own. Parts were put together by hand as well (8 files at a start instead of
 * 27): a start took as long.
 *
 * Nothing is minified, so that names in stacks are those of the sources. The hash in a file's name is there for a server that runs while
 * another version is installed in its place: it does not find a part that it had not loaded yet, and says so, instead of
 * loading another version's.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** Writes the bundle of this repository's sources into `folder`; what was there before is replaced as a whole, or not at all. */
export async function writeBundle(folder: string): Promise<readonly string[]> {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.new-`);
  try {
    // Before anything is read: what is edited from now on is newer.
    writeFileSync(join(fresh, 'stamp'), '');
    const chunks = await bundledChunks();
    // Two folders below the installation, as the modules that look for it (src/kernel/home.ts).
    const program = join(fresh, 'program');
    mkdirSync(program);
    for (const chunk of chunks) {
      writeFileSync(join(program, chunk.fileName), chunk.code);
      const lines = sourceLines(chunk);
      if (lines !== undefined) writeFileSync(join(program, `${chunk.fileName}.lines.json`), JSON.stringify(lines));
    }
    writeFileSync(join(fresh, 'licenses.txt'), licensesOf(chunks));
    replaceFolder(folder, fresh);
    return chunks.map(({ fileName }) => fileName);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function bundledChunks(): Promise<readonly OutputChunk[]> {
  const bundle = await rolldown({
    cwd: repository,
    input: { main: join(repository, 'src/cli/main.ts') },
    platform: 'node',
    plugins: [workerThreads],
    onLog: (_level, log) => {
      throw new Error(`the bundler complains: ${log.message}`);
    },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    // Written nowhere: the maps name the sources from here.
    dir: repository,
    entryFileNames: ({ name }) => (name === 'main' ? 'main.js' : '[name]-[hash].js'),
    chunkFileNames: '[name]-[hash].js',
    // Small files that many parts share would be a chunk each, and a start reads them all.
    codeSplitting: {
      groups: [
        { name: 'kernel', test: /[\\/]src[\\/]kernel[\\/]/ },
        { name: 'lean', test: /[\\/]src[\\/]wire[\\/](generated[\\/]lean[\\/]|(reader|writer|wire-error|copy-of|fields|wire-limits)\.ts)/ },
        { name: 'schedules', test: /[\\/]src[\\/]schedules[\\/]/ },
        { name: 'topics', test: /[\\/]src[\\/]topics[\\/](append-limits|catalogue|in-slices|embedded[\\/]writer-messages)\.ts$/ },
        { name: 'edge-words', test: /[\\/]src[\\/]grpc[\\/](method|errors|validation|pages)/ },
        {
          name: 'command-words',
          test: /[\\/]src[\\/]cli[\\/](cli-error|command|incomplete-installation|global-flags|connection-flags|server[\\/]start(-dev)?-flags|admin[\\/]dlq[\\/]dlq-flags)\.ts$/,
        },
      ],
    },
    sourcemap: 'hidden',
  });
  await bundle.close();
  // The others are the maps once more.
  return output.filter((file) => file.type === 'chunk');
}

const threadUrl = /new URL\('(\.\/[\w./-]+\.ts)', import\.meta\.url\)/g;

/** `new Worker(new URL('./x.ts', import.meta.url))` names a module that nobody imports; in the bundle its URL is that of its part. */
const workerThreads: Plugin = {
  name: 'worker-threads',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: /import\.meta\.url/ },
    handler(code, id) {
      const replaced = code.replaceAll(threadUrl, (_, path: string) => {
        const part = this.emitFile({ type: 'chunk', id: resolve(dirname(id), path) });
        return `new URL(import.meta.ROLLUP_FILE_URL_${part})`;
      });
      // All lines are where they were.
      return { code: replaced, map: null };
    },
  },
  renderChunk(code, { fileName }) {
    const forgotten = /new URL\([^)]*\.ts\b[^)]*\)/.exec(code)?.[0];
    if (forgotten !== undefined) throw new Error(`${fileName} would look for a source: ${forgotten}`);
  },
};

/**
 * Where each line of a part comes from: the place of its file in `sources` and its line there, two numbers a line, zeros for glue. A source
 * map for whole lines: a stack needs no more, and reading it takes 6 ms and 1 MiB where Node takes 130 ms and 15 MiB for a real map.
 */
function sourceLines({ code, map }: OutputChunk): { readonly sources: readonly string[]; readonly lines: readonly number[] } | undefined {
  // A part that only passes on what another one exports.
  if (map === null) return undefined;
  const payload: SourceMapPayload = JSON.parse(map.toString());
  const sourceMap = new SourceMap(payload);
  const sources: string[] = [];
  const lines = code.split('\n').flatMap((text, line) => {
    const entry = sourceMap.findEntry(line, text.search(/\S|$/));
    if (!('originalSource' in entry) || entry.generatedLine !== line) return [0, 0];
    const source = entry.originalSource;
    if (!sources.includes(source)) sources.push(source);
    return [sources.indexOf(source), entry.originalLine + 1];
  });
  return { sources, lines };
}

/** What the licences of bundled packages ask of whoever passes them on. */
function licensesOf(chunks: readonly OutputChunk[]): string {
  const folders = new Set(
    chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? [])),
  );
  const texts = [...folders].toSorted().map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${folder} is in the bundle and has no licence`);
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly version: string;
    };
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** Until the second rename there is no bundle, and bin/perdure runs the sources. */
function replaceFolder(folder: string, fresh: string): void {
  const old = mkdtempSync(`${folder}.old-`);
  try {
    renameSync(folder, join(old, 'dist'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  renameSync(fresh, folder);
  rmSync(old, { recursive: true });
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(repository, 'dist'));
  const files = await writeBundle(folder);
  console.log(`bundled the program into ${files.length} files below ${relative(process.cwd(), folder)}`);
}
