/**
 * Writes docs/rpcs.md from the rows of RPCs: `npm run gen:docs`. A test fails when the page is not what this makes, and calls every RPC of the public
 * API to see that it answers as its row says.
 */
import { writeFileSync } from 'node:fs';
import { adminRpcs } from '../src/grpc/rpcs/admin-rpcs.ts';
import { deadLetterRpcs } from '../src/grpc/rpcs/dead-letter-rpcs.ts';
import { healthRpcs } from '../src/grpc/rpcs/health-rpcs.ts';
import { httpRpcs } from '../src/grpc/rpcs/http-rpcs.ts';
import { operatorRpcs } from '../src/grpc/rpcs/operator-rpcs.ts';
import type { Rpc, RpcService } from '../src/grpc/rpcs/rpc.ts';
import { workflowRpcs } from '../src/grpc/rpcs/workflow-rpcs.ts';
import { notBuilt, statusCode } from '../src/grpc/errors/status-error.ts';

const services: readonly RpcService[] = [workflowRpcs, operatorRpcs, adminRpcs, deadLetterRpcs, healthRpcs, httpRpcs];

const intro = `# What each RPC answers

<!-- Made by scripts/rpcs-page.ts from src/grpc/rpcs: change it there, then run npm run gen:docs. -->

This page lists every RPC of the public API and of Perdure, whether it works or not. An RPC that does not work is refused with an answer that names it. Fields that are refused by
RPCs that work are in docs/differences.md.

| column | |
|---|---|
| scope | what a call is about: one namespace, the cluster, or neither |
| access | the permission that a caller will need once there is authorization; today anyone who can reach the port may call |
| waits for | what a call waits for, if that depends on clients or workers. \`frontend.namespaceCount\` limits how many calls of each such RPC a namespace may have at a time |`;

export function rpcsPage(): string {
  const sections = services.map(({ name, rpcs }) => {
    const head = [
      '',
      `## ${name.split('.').at(-1)}`,
      '',
      '| RPC | | scope | access | waits for | what it answers |',
      '|---|---|---|---|---|---|',
    ];
    return [...head, ...[...rpcs.values()].map(line)].join('\n');
  });
  return `${[intro, ...sections].join('\n')}\n`;
}

function line(rpc: Rpc): string {
  const { method, scope, access, waitsFor = '', missing } = rpc;
  return `| \`${method}\` | ${missing?.why ?? 'works'} | ${scope} | ${access} | ${waitsFor} | ${refusalOf(rpc)} |`;
}

/** The refusal of an RPC; empty if it works. */
export function refusalOf({ method, missing }: Rpc): string {
  if (missing === undefined) return '';
  const { code, text } = missing.refusal ?? { code: statusCode.unimplemented, text: notBuilt(method).message };
  return `${codeNames.get(code)}: ${text}`;
}

/** The names of status codes as gRPC writes them. */
const codeNames = new Map<number, string>(
  Object.entries(statusCode).map(([name, code]) => [code, name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()]),
);

if (import.meta.main) writeFileSync(new URL('../docs/rpcs.md', import.meta.url), rpcsPage());
