/**
 * Writes what is generated. It is not checked in.
 *
 *   the public API's descriptors, seen through   ->  src/wire/generated/lean/**              codecs of the hot messages
 *   scripts/generate/hot-messages.ts                 src/wire/generated/opaque-shapes.ts     what is checked before it is passed on
 *                                                    src/history/generated/public-api.ts     what the core knows of events,
 *                                                    src/history/generated/enums.ts          and of enumerations
 *   … and proto/temporal/server/api/adminservice ->  src/wire/generated/declared-methods.ts  what the services of a frontend have, built or not
 *   proto/perdure/**                             ->  src/wire/generated/{journal,peer,state,token}/** codecs of our own messages
 *   proto/temporal/server/api/**                 ->  src/wire/generated/services.{js,d.ts}   MatchingService, AdminService; protobufjs
 *
 * Runs after every install (`prepare`), so it uses installed packages and nothing else.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emitCoreEnums } from './generate/emit-core-enums.ts';
import { emitDeclaredMethods } from './generate/emit-declared-methods.ts';
import { emitEventCodecs, emitEventTypes, eventKinds } from './generate/emit-events.ts';
import { emitModule } from './generate/emit-module.ts';
import { emitOpaqueShapes } from './generate/emit-opaque-shapes.ts';
import { coreEnums } from './generate/hot-messages.ts';
import { leanSchema } from './generate/lean-schema.ts';
import { loadProtos, loadPublicApi, publicApiFolders } from './generate/public-api.ts';
import { readSchema } from './generate/schema.ts';
import { generateServices } from './generate/services.ts';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));
const protoFolder = join(repository, 'proto');
const wireFolder = 'src/wire/generated';
const coreFolder = 'src/history/generated';

const publicApi = loadPublicApi();
const adminApi = loadProtos([protoFolder, ...publicApiFolders()], ['temporal/server/api/adminservice/v1/service.proto']);
const ownApi = loadProtos([protoFolder, ...publicApiFolders()], ['perdure/api/deadletter/v1/service.proto']);
const frontendServices = [
  publicApi.lookupService('temporal.api.workflowservice.v1.WorkflowService'),
  publicApi.lookupService('temporal.api.operatorservice.v1.OperatorService'),
  adminApi.lookupService('temporal.server.api.adminservice.v1.AdminService'),
  ownApi.lookupService('perdure.api.deadletter.v1.DeadLetterService'),
];
const lean = leanSchema(publicApi);
const ownFiles = protoFilesBelow('perdure').map((path) => ({ path, source: readFileSync(join(protoFolder, path), 'utf8') }));
const modules = [...lean.modules, ...readSchema(ownFiles, lean.declared)];
const kinds = eventKinds(lean.modules);

const texts = new Map([
  ...modules.map((module): [string, string] => [`${wireFolder}/${module.modulePath}`, emitModule(module)]),
  [`${wireFolder}/lean/event-attributes.ts`, emitEventCodecs(kinds)],
  [`${wireFolder}/opaque-shapes.ts`, emitOpaqueShapes(publicApi)],
  [`${wireFolder}/declared-methods.ts`, emitDeclaredMethods(frontendServices)],
  [`${coreFolder}/public-api.ts`, emitEventTypes(kinds, lean.modules)],
  [`${coreFolder}/enums.ts`, emitCoreEnums(coreEnums, lean.modules)],
]);
for (const [path, text] of texts) {
  const target = join(repository, path);
  mkdirSync(dirname(target), { recursive: true });
  // An unchanged file keeps its time, so that watchers and compile caches stay quiet.
  if (readIfPresent(target) !== text) writeFileSync(target, text);
}
[wireFolder, coreFolder].forEach(removeStale);
const messages = modules.reduce((sum, module) => sum + module.messages.length, 0);
console.log(`generated ${messages} messages in ${texts.size} modules below ${wireFolder} and ${coreFolder}`);
console.log(generateServices({ protoFolder, generatedFolder: join(repository, wireFolder), files: protoFilesBelow('temporal') }));

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

function removeStale(folder: string): void {
  for (const name of readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })) {
    const path = `${folder}/${name.split(sep).join('/')}`;
    if (path.endsWith('.ts') && !path.endsWith('.d.ts') && !texts.has(path)) rmSync(join(repository, path));
  }
}
