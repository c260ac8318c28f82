/**
 * Writes `src/wire/generated/` from `proto/`: one TypeScript module for each .proto file below `perdure/`, and one for the Matching and
 * Admin services together.
 *
 *   proto/perdure/lean/v1/history.proto   ->  src/wire/generated/lean/history.ts      our generator
 *   proto/temporal/server/api/**          ->  src/wire/generated/services.{js,d.ts}   protobufjs
 *
 * Runs after every install (`prepare`), so it uses installed packages and nothing else. What it writes is not checked in.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emitModule } from './generate/emit-module.ts';
import { readSchema } from './generate/schema.ts';
import { generateServices } from './generate/services.ts';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));
const protoFolder = join(repository, 'proto');
const generatedFolder = join(repository, 'src', 'wire', 'generated');

const schema = readSchema(protoFilesBelow('perdure').map((path) => ({ path, source: readFileSync(join(protoFolder, path), 'utf8') })));

let messages = 0;
const written = new Set<string>();
for (const module of schema) {
  const target = join(generatedFolder, module.modulePath);
  mkdirSync(dirname(target), { recursive: true });
  const text = emitModule(module);
  written.add(module.modulePath);
  messages += module.messages.length;
  // An unchanged file keeps its time, so that watchers and compile caches stay quiet.
  if (readIfPresent(target) !== text) writeFileSync(target, text);
}
removeStale();
console.log(`generated ${messages} messages in ${written.size} modules below ${relative(repository, generatedFolder)}`);
const services = generateServices({ protoFolder, generatedFolder, files: protoFilesBelow('temporal') });
console.log(services);

function protoFilesBelow(folder: string): string[] {
  return readdirSync(join(protoFolder, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.proto'))
    .map((name) => join(folder, name).split(sep).join('/'))
    .toSorted();
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function removeStale(): void {
  for (const name of readdirSync(generatedFolder, { recursive: true, encoding: 'utf8' })) {
    const modulePath = name.split(sep).join('/');
    if (modulePath.endsWith('.ts') && !modulePath.endsWith('.d.ts') && !written.has(modulePath)) rmSync(join(generatedFolder, name));
  }
}
