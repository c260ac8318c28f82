/**
 * The public API as its own .proto files describe it, by reflection. They come with @temporalio/core-bridge, a development package: the
 * server itself needs what is generated from them, and nothing of them.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

const files = [
  'temporal/api/workflowservice/v1/service.proto',
  'temporal/api/operatorservice/v1/service.proto',
  'temporal/api/errordetails/v1/message.proto',
  'temporal/api/history/v1/message.proto',
  'google/rpc/status.proto',
  'grpc/health/v1/health.proto',
];

/** Field names as the .proto files have them: `workflow_id`. */
export function loadPublicApi(): protobuf.Root {
  return loadProtos(publicApiFolders(), files, { keepCase: true });
}

/** Files are looked for in one folder after the other. */
export function loadProtos(folders: readonly string[], paths: readonly string[], options?: protobuf.IParseOptions): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => folders.map((folder) => join(folder, target)).find(existsSync) ?? target;
  root.loadSync([...paths], options);
  root.resolveAll();
  return root;
}

export function publicApiFolders(): readonly string[] {
  const require = createRequire(import.meta.url);
  let bridge: string;
  try {
    bridge = dirname(require.resolve('@temporalio/core-bridge/package.json'));
  } catch {
    throw new Error('the descriptors of the public API are not installed: the codecs are generated with the development packages');
  }
  const protos = join(bridge, 'sdk-core', 'crates', 'protos', 'protos');
  return [join(protos, 'api_upstream'), protos];
}
