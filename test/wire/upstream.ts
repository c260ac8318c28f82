/** The public API as its own .proto files describe it, by reflection: what our lean messages are measured against. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

const protoFolder = join(
  dirname(createRequire(import.meta.url).resolve('@temporalio/core-bridge/package.json')),
  'sdk-core',
  'crates',
  'protos',
  'protos',
);
const searchFolders = [join(protoFolder, 'api_upstream'), protoFolder];

const files = [
  'temporal/api/workflowservice/v1/request_response.proto',
  'temporal/api/operatorservice/v1/request_response.proto',
  'temporal/api/errordetails/v1/message.proto',
  'temporal/api/history/v1/message.proto',
  'google/rpc/status.proto',
  'grpc/health/v1/health.proto',
];

export function loadUpstream(): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => searchFolders.map((folder) => join(folder, target)).find((path) => existsSync(path)) ?? target;
  root.loadSync(files, { keepCase: true });
  root.resolveAll();
  return root;
}

export function loadOurs(repository: string, protoFiles: readonly string[]): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (target.startsWith('perdure/') ? join(repository, 'proto', target) : target);
  root.loadSync([...protoFiles], { keepCase: true });
  root.resolveAll();
  return root;
}

/** Our Matching and Admin services, with the parts of the public API that they carry. */
export function loadServices(repository: string, protoFiles: readonly string[]): protobuf.Root {
  const root = new protobuf.Root();
  const folders = [join(repository, 'proto'), ...searchFolders];
  root.resolvePath = (_origin, target) => folders.map((folder) => join(folder, target)).find((path) => existsSync(path)) ?? target;
  root.loadSync([...protoFiles], { keepCase: true });
  root.resolveAll();
  return root;
}

/** Every message and enumeration below a namespace, the nested ones too. */
export function declaredTypes(parent: protobuf.NamespaceBase): (protobuf.Type | protobuf.Enum)[] {
  return parent.nestedArray.flatMap((nested) => {
    if (nested instanceof protobuf.Enum) return [nested];
    const below = nested instanceof protobuf.Namespace ? declaredTypes(nested) : [];
    return nested instanceof protobuf.Type ? [nested, ...below] : below;
  });
}

/** The name inside its package: Outer.Inner. */
export function localName(type: protobuf.ReflectionObject): string {
  return type.parent instanceof protobuf.Type ? `${localName(type.parent)}.${type.name}` : type.name;
}

/** Names that two packages use; the one that our messages mean. */
const meant = new Map([
  ['OnConflictOptions', '.temporal.api.workflow.v1.OnConflictOptions'],
  ['Failure', '.temporal.api.failure.v1.Failure'],
  ['Link', '.temporal.api.common.v1.Link'],
]);

/** Local name -> type of the public API. Any other name that two packages use is refused here, so that no test compares with the wrong one. */
export function upstreamByLocalName(root: protobuf.Root, wanted: ReadonlySet<string>): Map<string, protobuf.Type | protobuf.Enum> {
  const found = new Map<string, protobuf.Type | protobuf.Enum>();
  for (const type of declaredTypes(root)) {
    const name = localName(type);
    if (!wanted.has(name) || (meant.get(name) ?? type.fullName) !== type.fullName) continue;
    const earlier = found.get(name);
    if (earlier) throw new Error(`${name} is both ${earlier.fullName} and ${type.fullName}`);
    found.set(name, type);
  }
  return found;
}
