/** The generated codecs by message name, for tests that go over all of them. */
import * as command from '../../src/wire/generated/lean/command.ts';
import * as common from '../../src/wire/generated/lean/common.ts';
import * as errorDetails from '../../src/wire/generated/lean/error_details.ts';
import * as failure from '../../src/wire/generated/lean/failure.ts';
import * as health from '../../src/wire/generated/lean/health.ts';
import * as history from '../../src/wire/generated/lean/history.ts';
import * as namespaceService from '../../src/wire/generated/lean/namespace_service.ts';
import * as operatorService from '../../src/wire/generated/lean/operator_service.ts';
import * as taskQueue from '../../src/wire/generated/lean/taskqueue.ts';
import * as workflow from '../../src/wire/generated/lean/workflow.ts';
import * as workflowService from '../../src/wire/generated/lean/workflow_service.ts';

export type Codec = { readonly name: string; encode(message: unknown): Uint8Array; decode(bytes: Uint8Array): unknown; empty(): unknown };

const modules: readonly Readonly<Record<string, unknown>>[] = [
  command,
  common,
  errorDetails,
  failure,
  health,
  history,
  namespaceService,
  operatorService,
  taskQueue,
  workflow,
  workflowService,
];

export const leanCodecs: readonly Codec[] = modules.flatMap((module) =>
  Object.keys(module)
    .filter((key) => key.startsWith('decode'))
    .map((key) => {
      const name = key.slice('decode'.length);
      return {
        name,
        // The registry is untyped on purpose: the tests feed each codec what the codec itself, or the public API's, has made.
        encode: module[`encode${name}`] as Codec['encode'],
        decode: module[key] as Codec['decode'],
        empty: module[`empty${name}`] as Codec['empty'],
      };
    }),
);

export function leanCodec(name: string): Codec {
  const codec = leanCodecs.find((candidate) => candidate.name === name);
  if (!codec) throw new Error(`no generated codec for ${name}`);
  return codec;
}
