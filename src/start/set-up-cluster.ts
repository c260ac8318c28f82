/** First things first: the cluster's identity and token key, then the namespaces and search attributes that the options name. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isAskFailure } from '../actors/asks/asks.ts';
import { indexedValueTypeName, indexedValueTypeNamed } from '../cluster/search-attributes.ts';
import type { ClusterHost } from '../actors/cluster/cluster-host.ts';
import type { Clock } from '../actors/ports.ts';
import type { Asker } from '../actors/asks/router.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import type { ClusterCommand } from '../cluster/commands.ts';
import type { ServerOptions } from '../config/server-options.ts';

export type ClusterToSetUp = {
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Pick<Clock, 'monoMs'>;
  readonly cluster: Pick<ClusterHost, 'view'>;
  readonly options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'namespaces' | 'searchAttributes'>;
};

const DEFAULT_RETENTION_MS = 72 * 3_600_000;
const ANSWER_TIMEOUT_MS = 30_000;

/** Idempotent. Throws when the cluster's actor refuses something, or does not answer. */
export async function setUpCluster({ asker, clock, cluster, options }: ClusterToSetUp): Promise<void> {
  const ask = (command: ClusterCommand, about = ''): Promise<void> =>
    new Promise((resolve, reject) => {
      asker.askCluster(command, clock.monoMs() + ANSWER_TIMEOUT_MS, (answer) => {
        if (isAskFailure(answer)) reject(new Error(`the cluster actor could not be set up: ${answer.message}`));
        else if (answer.kind === 'rejected') reject(new Error(`${about}${answer.rejection.message}`));
        else resolve();
      });
    });
  const { clusterName, historyShards } = options;
  await ask({ kind: 'initializeCluster', clusterId: randomUUID(), clusterName, tokenKey: randomBytes(32), historyShards });
  for (const name of options.namespaces) {
    if (cluster.view.namespaceByName(name) === undefined) await ask(namespaceNamed(name), `namespace ${name}: `);
  }
  const attributes = wantedAttributes(options.searchAttributes, cluster.view);
  if (attributes.size > 0) await ask({ kind: 'addSearchAttributes', namespaceId: '', attributes });
}

function namespaceNamed(name: string): ClusterCommand {
  const nothingSaid = { description: '', ownerEmail: '', data: new Map() };
  return { kind: 'registerNamespace', id: randomUUID(), name, ...nothingSaid, retentionMs: DEFAULT_RETENTION_MS };
}

/** Name → indexed value type. */
function wantedAttributes(typeNames: ServerOptions['searchAttributes'], cluster: ClusterSnapshot): ReadonlyMap<string, number> {
  const attributes = new Map<string, number>();
  for (const [name, typeName] of typeNames) {
    const type = indexedValueTypeNamed(typeName);
    if (type === undefined) throw new Error(`search attribute ${name}: unknown type ${typeName}`);
    const known = cluster.clusterSearchAttributes.get(name);
    if (known !== undefined && known !== type) {
      throw new Error(
        `search attribute ${name} exists with type ${indexedValueTypeName(known)}, asked for is ${typeName}: a type never changes; choose another name`,
      );
    }
    attributes.set(name, type);
  }
  return attributes;
}
