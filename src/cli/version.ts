import { nodeMajorMinor, perdureBuild, perdureVersion, temporalApiVersion } from '../config/version.ts';
import { listFormat } from './output.ts';
import { printOne } from './printed-list.ts';
import type { Invocation } from './command.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';

/** `Perdure 0.1.0 (Temporal API 1.63, Node 24.21)`: also the first line of the banner. */
export function versionLine(): string {
  return `Perdure ${perdureVersion()} (Temporal API ${temporalApiVersion}, Node ${nodeMajorMinor()})`;
}

export async function runVersion({ flags, io }: Invocation): Promise<ExitCode> {
  printOne(
    io,
    listFormat(flags.one('output'), 'text'),
    () => ({ version: perdureVersion(), build: perdureBuild(), temporalApi: temporalApiVersion, node: process.versions.node }),
    () => `${versionLine()}\n`,
  );
  return exitCodes.done;
}
