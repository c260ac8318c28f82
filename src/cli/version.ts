import { nodeMajorMinor, perdureBuild, perdureVersion, temporalApiVersion } from '../config/version.ts';
import { printOne } from './printed-list.ts';
import type { ExitCode, Invocation } from './command.ts';

/** `Perdure 0.1.0+3f0c6a8e (Temporal API 1.63, Node 24.21)`, which is also the first line of the banner. */
export function versionLine(): string {
  return `Perdure ${perdureBuild()} (Temporal API ${temporalApiVersion}, Node ${nodeMajorMinor()})`;
}

export async function runVersion(invocation: Invocation): Promise<ExitCode> {
  return printOne(
    invocation,
    { version: perdureVersion(), build: perdureBuild(), temporalApi: temporalApiVersion, node: process.versions.node },
    () => `${versionLine()}\n`,
  );
}
