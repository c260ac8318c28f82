/**
 * MatchingService and AdminService: messages with hundreds of fields, used by operators and by other parts of the server, never on the
 * hot path. protobufjs writes their code, as one module that is loaded when the first of these calls arrives.
 *
 *   proto/temporal/server/api/** + public API  ->  reflection  ->  only what is reachable  ->  pbjs  ->  services.js, services.d.ts
 *
 * Without the pruning the module is twice as large: it would hold the whole public API.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import { loadProtos, publicApiFolders } from './public-api.ts';

const serverApi = 'temporal.server.api';
const pbjsOptions = [
  '-t',
  'static-module',
  '-w',
  'esm',
  '--dts',
  '--force-long',
  '-r',
  'perdure',
  '--no-delimited',
  '--no-typeurl',
  '--no-verify',
];

export type ServicesOptions = { readonly protoFolder: string; readonly generatedFolder: string; readonly files: readonly string[] };

/** Answers what was done, for the log line. */
export function generateServices({ protoFolder, generatedFolder, files }: ServicesOptions): string {
  const tools = findTools();
  if (!tools) return 'skipped MatchingService and AdminService: protobufjs-cli is not installed';
  const schema = JSON.stringify(reachable(loadProtos([protoFolder, ...publicApiFolders()], files)).toJSON());
  const hash = createHash('sha256')
    .update([schema, tools.version, ...pbjsOptions].join('\n'))
    .digest('hex');
  const target = join(generatedFolder, 'services.js');
  const mark = `// schema ${hash}\n`;
  // Twelve seconds of work that hardly any change needs.
  if (existsSync(target) && readFileSync(target, 'utf8').startsWith(mark)) return 'MatchingService and AdminService are up to date';
  runPbjs(tools.pbjs, schema, target);
  // The comments serve the .d.ts file only; they are half of the module.
  writeFileSync(target, mark + readFileSync(target, 'utf8').replaceAll(/[ \t]*\/\*\*[\s\S]*?\*\/\r?\n/g, ''));
  return 'generated MatchingService and AdminService';
}

type Tools = { readonly pbjs: string; readonly version: string };

function findTools(): Tools | undefined {
  const require = createRequire(import.meta.url);
  try {
    const cli = require.resolve('protobufjs-cli/package.json');
    const description: { readonly version?: string } = JSON.parse(readFileSync(cli, 'utf8'));
    return { pbjs: join(dirname(cli), 'bin', 'pbjs'), version: description.version ?? '' };
  } catch {
    return undefined;
  }
}

/** Removes from `root` what no message of ours refers to. */
function reachable(root: protobuf.Root): protobuf.Root {
  const kept = new Set<protobuf.ReflectionObject>();
  const keep = (type: protobuf.ReflectionObject | null): void => {
    if (!type || kept.has(type)) return;
    kept.add(type);
    if (type.parent instanceof protobuf.Type) keep(type.parent);
    if (type instanceof protobuf.Type) for (const field of type.fieldsArray) keep(field.resolvedType);
  };
  const keepAll = (namespace: protobuf.NamespaceBase): void => {
    for (const nested of namespace.nestedArray) {
      if (nested instanceof protobuf.Type || nested instanceof protobuf.Enum || nested instanceof protobuf.Service) keep(nested);
      if (nested instanceof protobuf.Namespace) keepAll(nested);
    }
  };
  const prune = (namespace: protobuf.NamespaceBase): void => {
    for (const nested of namespace.nestedArray) {
      const isFolder = nested instanceof protobuf.Namespace && !(nested instanceof protobuf.Type) && !(nested instanceof protobuf.Service);
      if (nested instanceof protobuf.Namespace && (isFolder || kept.has(nested))) prune(nested);
      const isEmpty = isFolder && nested.nestedArray.length === 0;
      if (isEmpty || (!isFolder && !kept.has(nested))) namespace.remove(nested);
    }
  };
  keepAll(root.lookup(serverApi) as protobuf.Namespace);
  prune(root);
  return root;
}

function runPbjs(pbjs: string, schema: string, target: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-services-'));
  try {
    const input = join(folder, 'services.json');
    writeFileSync(input, schema);
    execFileSync(process.execPath, [pbjs, ...pbjsOptions, '-o', target, input], { stdio: ['ignore', 'inherit', 'inherit'] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
