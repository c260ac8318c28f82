/** Creates the cluster's identity and token key, then the namespaces and search attributes that the options name. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isAskFailure, ownWork } from '../actors/asks/asks.ts';
import { ClusterCore } from '../cluster/cluster-core.ts';
import { indexedValueTypeNamed } from '../cluster/search-attributes.ts';
import { searchAttributeTypeName } from '../kernel/indexed-value-types.ts';
import type { Clock } from '../ports/machine.ts';
import type { Asker } from '../actors/asks/router.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import type { ClusterCommand, ClusterRejection } from '../cluster/cluster-commands.ts';
import type { ServerOptions } from '../config/server-options.ts';

export type ClusterToSetUp = {
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Pick<Clock, 'monoMs'>;
  readonly cluster: { readonly view: ClusterView };
  readonly options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'namespaces' | 'searchAttributes'>;
};

type ClusterView = Pick<ClusterSnapshot, 'namespaceByName' | 'clusterSearchAttributes'>;

const DEFAULT_RETENTION_MS = 72 * 3_600_000;
const ANSWER_TIMEOUT_MS = 30_000;

/** Idempotent. Throws if the cluster's actor refuses something or does not answer. */
export async function setUpCluster({ asker, clock, cluster, options }: ClusterToSetUp): Promise<void> {
  const ask: Ask = (command, about) =>
    new Promise((resolve, reject) => {
      asker.askCluster(command, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) => {
        if (isAskFailure(answer)) reject(new Error(`the cluster actor could not be set up: ${answer.message}`));
        else if (answer.kind === 'rejected') reject(refused(answer.rejection, about));
        else resolve();
      });
    });
  await setUp(ask, cluster, options);
}

/** Tries the options on a cluster in memory: invalid ones are refused before a file or a topic is created. Throws like `setUpCluster`. */
export async function checkSetUp(options: ClusterToSetUp['options']): Promise<void> {
  const core = new ClusterCore();
  const ask: Ask = async (command, about) => {
    const handled = core.handle(command, 0, 0);
    if (handled.kind !== 'wait' && handled.reply?.kind === 'rejected') throw refused(handled.reply.rejection, about);
    core.accept(handled);
  };
  await setUp(ask, { view: core.state }, options);
}

/** `about` is the beginning of the error message, before the reason. */
type Ask = (command: ClusterCommand, about?: string) => Promise<void>;

function refused({ message }: ClusterRejection, about = ''): Error {
  return new Error(`${about}${message}`);
}

async function setUp(ask: Ask, cluster: ClusterToSetUp['cluster'], options: ClusterToSetUp['options']): Promise<void> {
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

function wantedAttributes(typeNames: ServerOptions['searchAttributes'], cluster: ClusterView): ReadonlyMap<string, number> {
  const attributes = new Map<string, number>();
  for (const [name, typeName] of typeNames) {
    const type = indexedValueTypeNamed(typeName);
    if (type === undefined) throw new Error(`search attribute ${name}: unknown type ${typeName}`);
    const known = cluster.clusterSearchAttributes.get(name);
    if (known !== undefined && known !== type) {
      throw new Error(
        `search attribute ${name} exists with type ${searchAttributeTypeName(known)}, asked for is ${typeName}: a type never changes; choose another name`,
      );
    }
    attributes.set(name, type);
  }
  return attributes;
}
