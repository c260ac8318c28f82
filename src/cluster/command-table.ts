/** The commands of the cluster actor, a row each: their answers, who decides them. A new one is a type (cluster-commands.ts) and a row. */
import { answer, type Handled, invalid, type OfKind, type ReplyTo } from '../kernel/handled.ts';
import { type ArchivalChange, type ArchivalState, nextArchivalState, notArchived, otherUri } from './archival-state.ts';
import type { ClusterState, Namespace } from './cluster-state.ts';
import type { ClusterCommand, ClusterEffect, ClusterRejection, ClusterReply } from './cluster-commands.ts';
import type { ClusterRecord, NamespaceArchivalSet } from './cluster-records.ts';
import { systemNamespace } from '../kernel/system-namespace.ts';
import { utf8Bytes } from '../kernel/utf8.ts';
import { isIndexedValueType, isReservedSearchAttribute, systemSearchAttributes } from './search-attributes.ts';
import { searchAttributeSlots } from '../kernel/search-attribute-slots.ts';
import { searchAttributeTypeName } from '../kernel/indexed-value-types.ts';

export const clusterLimits = {
  namespacesMax: 10_000,
  /** Further ones, whose entries are not gone yet: every process holds them. */
  deletedNamespacesMax: 100_000,
  /** The names are keys of records. */
  namespaceNameBytesMax: 1_000,
  /** Description, owner and data of a namespace together. Every process holds all of them. */
  namespaceTextBytesMax: 64 * 1024,
  searchAttributeNameCharsMax: 255,
  retentionMsMin: 3_600_000,
  tokenKeyBytesMin: 32,
  /** Each has a topic, and an actor. */
  deadLetterQueuesMax: 1_000,
  /** What is written again at once, and what that weighs; one record always is. */
  carriedMax: 100,
  carriedWeightMax: 1024 * 1024,
} as const;

/** Characters of the id in the name of a deleted namespace; more when that name is taken. */
const deletedSuffixChars = 5;

type Command = OfKind<ClusterCommand>;

export type Result = Handled<ClusterRecord, ClusterReply, ClusterEffect>;

type CommandRow<Kind extends ClusterCommand['kind']> = {
  readonly replies: readonly ClusterReply['kind'][];
  readonly decide: (state: ClusterState, command: Command[Kind], timeMs: number) => Result;
};
type CommandTable = { readonly [Kind in ClusterCommand['kind']]: CommandRow<Kind> };

const done: ClusterReply = { kind: 'done' };
/** Answered behind the barrier and all earlier commits: what it says is so, is committed. */
const unchanged: Result = answer(done);

export const clusterRequests = {
  registerNamespace: { replies: ['done'], decide: register },
  updateNamespace: { replies: ['done'], decide: update },
  deleteNamespace: { replies: ['done'], decide: deleteNamespace },
  endNamespace: { replies: ['done'], decide: endNamespace },
  addSearchAttributes: { replies: ['done'], decide: addSearchAttributes },
  removeSearchAttributes: { replies: ['done'], decide: removeSearchAttributes },
  purgeSearchAttributes: { replies: ['done'], decide: purgeSearchAttributes },
  addDeadLetterQueue: { replies: ['done'], decide: addDeadLetterQueue },
  initializeCluster: { replies: ['done'], decide: initialize },
  syncCluster: { replies: ['done'], decide: () => unchanged },
} satisfies CommandTable;

export type ClusterReplyTo = ReplyTo<typeof clusterRequests, ClusterCommand['kind'], ClusterReply>;

const rows: CommandTable = clusterRequests;

/** A command and its own kind belong to one row: TypeScript does not follow that through a union, and takes the row for one of all kinds. */
function rowOf<Kind extends ClusterCommand['kind']>(kind: Kind): CommandRow<Kind> {
  return rows[kind];
}

export function decide(state: ClusterState, command: ClusterCommand, timeMs: number): Result {
  return rowOf(command.kind).decide(state, command, timeMs);
}

function register(state: ClusterState, command: Command['registerNamespace'], timeMs: number): Result {
  const { id, name, description, ownerEmail, data, retentionMs } = command;
  if (name === '') return invalid('Namespace not set on request.');
  if (utf8Bytes(name) > clusterLimits.namespaceNameBytesMax) return invalid('Namespace length exceeds limit.');
  const problem = textProblem(description, ownerEmail, data);
  if (problem !== undefined) return invalid(problem);
  if (retentionMs < clusterLimits.retentionMsMin) return invalid('A valid retention period is not set on request.');
  if (name === systemNamespace.name || state.namespaceByName(name) !== undefined || state.namespaceById(id) !== undefined) {
    return rejected('namespace-exists', `Namespace "${name}" already exists`);
  }
  if (state.liveNamespaces >= clusterLimits.namespacesMax) {
    return rejected('failed-precondition', `cluster has ${clusterLimits.namespacesMax} namespaces, its limit`);
  }
  const registered = { kind: 'namespaceRegistered', timeMs, id, name, description, ownerEmail, data, retentionMs } as const;
  const archival = archivalSet(id, notArchived, command.archival, timeMs);
  if (archival === otherUri) return invalid(otherUri);
  return archival === undefined ? commit(registered) : commit(archival, [registered]);
}

function update(state: ClusterState, command: Command['updateNamespace'], timeMs: number): Result {
  const known = state.namespaceById(command.id);
  if (known === undefined) return namespaceNotFound(command.id);
  if (known.state === 'deleted') return rejected('failed-precondition', `Namespace ${known.name} is deleted.`);
  const retentionMs = command.retentionMs ?? known.retentionMs;
  if (retentionMs < clusterLimits.retentionMsMin) return invalid('A valid retention period is not set on request.');
  const description = command.description ?? known.description;
  const ownerEmail = command.ownerEmail ?? known.ownerEmail;
  const data = command.data === undefined ? known.data : new Map([...known.data, ...command.data]);
  const problem = textProblem(description, ownerEmail, data);
  if (problem !== undefined) return invalid(problem);
  const { id } = known;
  if (command.state === 'registered' && known.state === 'deprecated') return invalid('Invalid namespace state update.');
  const archival = archivalSet(id, known.archival, command.archival, timeMs);
  if (archival === otherUri) return invalid(otherUri);
  const records: ClusterRecord[] = [];
  if (saysMore(command)) records.push({ kind: 'namespaceUpdated', timeMs, id, description, ownerEmail, data, retentionMs });
  if (archival !== undefined) records.push(archival);
  if (command.state === 'deprecated' && known.state !== 'deprecated') records.push({ kind: 'namespaceDeprecated', timeMs, id });
  const last = records.pop();
  return last === undefined ? unchanged : commit(last, records);
}

/** Asked again for one that is deleted, it changes nothing, as in Temporal. */
function deleteNamespace(state: ClusterState, { id, graceMs, deleteDelayMs }: Command['deleteNamespace'], timeMs: number): Result {
  const known = state.namespaceById(id);
  if (known === undefined) return namespaceNotFound(id);
  if (known.state === 'deleted') return unchanged;
  if (state.deletions.size >= clusterLimits.deletedNamespacesMax) {
    return rejected('failed-precondition', `cluster has ${clusterLimits.deletedNamespacesMax} deleted namespaces, its limit`);
  }
  const name = nameAfterDeletion(state, known);
  return commit({ kind: 'namespaceDeleted', timeMs, id, name, purgeAtMs: timeMs + graceMs, deleteDelayMs });
}

/** Its entry goes in the same moment, unless it has a delay. */
function endNamespace(state: ClusterState, { id }: Command['endNamespace'], timeMs: number): Result {
  const deletion = state.deletions.get(id);
  if (deletion === undefined) return unchanged;
  const { purgedAtMs = timeMs, deleteDelayMs } = deletion;
  const records: ClusterRecord[] = [];
  if (deletion.purgedAtMs === undefined) records.push({ kind: 'namespacePurged', timeMs, id });
  if (purgedAtMs + deleteDelayMs <= timeMs) records.push({ kind: 'namespaceRemoved', timeMs, id });
  const last = records.pop();
  return last === undefined ? unchanged : commit(last, records);
}

/** The name that Temporal would give. If even the name with the whole id is taken, a number is added. */
function nameAfterDeletion(state: ClusterState, { id, name }: Namespace): string {
  const isTaken = (renamed: string): boolean => state.namespaceByName(renamed) !== undefined;
  for (let length = deletedSuffixChars; length <= id.length; length++) {
    const renamed = `${name}-deleted-${id.slice(0, length)}`;
    if (!isTaken(renamed)) return renamed;
  }
  let number = 2;
  while (isTaken(`${name}-deleted-${id}-${number}`)) number += 1;
  return `${name}-deleted-${id}-${number}`;
}

function addSearchAttributes(state: ClusterState, command: Command['addSearchAttributes'], timeMs: number): Result {
  const { namespaceId } = command;
  if (!isKnown(state, namespaceId)) return namespaceNotFound(namespaceId);
  if (command.attributes.size === 0) return invalid('SearchAttributes are not set on request.');
  const existing = effectiveAttributes(state, namespaceId);
  const added = new Map<string, number>();
  for (const [name, type] of command.attributes) {
    if (isReservedSearchAttribute(name)) return invalid(`Search attribute ${name} is reserved by system.`);
    if (name === '' || name.length > clusterLimits.searchAttributeNameCharsMax)
      return invalid(`Search attribute name "${name}" is not valid.`);
    if (!isIndexedValueType(type)) return invalid(`Unknown search attribute type: ${type}.`);
    if (!existing.has(name)) added.set(name, type);
  }
  if (added.size === 0) return unchanged;
  const slots = state.slots.free(namespaceId, added);
  for (const [name, type] of added) if (!slots.has(name)) return noSlot(state, namespaceId, type);
  const generations = state.generations.next(namespaceId, added.keys());
  return commit({ kind: 'searchAttributesAdded', timeMs, namespaceId, attributes: added, slots, generations });
}

function noSlot(state: ClusterState, namespaceId: string, type: number): Result {
  const max = searchAttributeSlots.get(type)?.length ?? 0;
  const tooMany = `Unable to create search attributes: cannot have more than ${max} search attribute of type ${searchAttributeTypeName(type)}.`;
  const waiting = state.slots.waiting(namespaceId, type);
  if (waiting === 0) return invalid(tooMany);
  const why = 'what workflows have stored in them is being cleared, and then others can take their place';
  const removed = `${waiting} of them ${waiting === 1 ? 'was' : 'were'} removed: ${why}`;
  return rejected('resource-exhausted', `${tooMany} ${removed}. Try again later.`);
}

function removeSearchAttributes(state: ClusterState, command: Command['removeSearchAttributes'], timeMs: number): Result {
  const { namespaceId, names } = command;
  if (!isKnown(state, namespaceId)) return namespaceNotFound(namespaceId);
  if (names.length === 0) return invalid('SearchAttributes are not set on request.');
  const own = state.ownAttributes(namespaceId);
  for (const name of names) {
    if (systemSearchAttributes.has(name)) return invalid(`Unable to remove non-custom search attributes: ${name}.`);
  }
  const removed = [...new Set(names)].filter((name) => own.has(name));
  return removed.length === 0 ? unchanged : commit({ kind: 'searchAttributesRemoved', timeMs, namespaceId, names: removed });
}

function purgeSearchAttributes(state: ClusterState, { namespaceId, slots }: Command['purgeSearchAttributes'], timeMs: number): Result {
  const purged = [...new Set(slots)].filter((slot) => state.slots.isRemoved(namespaceId, slot));
  return purged.length === 0 ? unchanged : commit({ kind: 'searchAttributesPurged', timeMs, namespaceId, slots: purged });
}

function addDeadLetterQueue(state: ClusterState, { category, sourceCluster }: Command['addDeadLetterQueue'], timeMs: number): Result {
  const queues = state.deadLetterQueues;
  if (queues.some((queue) => queue.category === category && queue.sourceCluster === sourceCluster)) return unchanged;
  if (!/^[a-z-]+$/.test(category)) return invalid(`"${category}" is no category of tasks`);
  if (!/^[A-Za-z0-9._-]+$/.test(sourceCluster)) return invalid(`no topic can be named after the cluster "${sourceCluster}"`);
  if (queues.length >= clusterLimits.deadLetterQueuesMax) {
    return rejected('failed-precondition', `cluster has ${clusterLimits.deadLetterQueuesMax} dead letter queues, its limit`);
  }
  return commit({ kind: 'deadLetterQueueAdded', timeMs, number: queues.length + 1, category, sourceCluster });
}

function initialize(state: ClusterState, command: Command['initializeCluster'], timeMs: number): Result {
  if (state.identity !== undefined) return unchanged;
  const { clusterId, clusterName, tokenKey, historyShards } = command;
  if (tokenKey.length < clusterLimits.tokenKeyBytesMin)
    return invalid(`token key has ${tokenKey.length} bytes, fewer than ${clusterLimits.tokenKeyBytesMin}`);
  return commit({ kind: 'clusterInitialized', timeMs, clusterId, clusterName, tokenKey, historyShards });
}

function isKnown(state: ClusterState, namespaceId: string): boolean {
  if (namespaceId === '') return true;
  const namespace = state.namespaceById(namespaceId);
  return namespace !== undefined && namespace.state !== 'deleted';
}

function effectiveAttributes(state: ClusterState, namespaceId: string): ReadonlyMap<string, number> {
  return state.namespaceById(namespaceId)?.customSearchAttributes ?? state.clusterSearchAttributes;
}

function commit(record: ClusterRecord, before: readonly ClusterRecord[] = []): Result {
  return { kind: 'commit', before, record, reply: done, effects: [] };
}

/** undefined: nothing of it changes. */
function archivalSet(
  id: string,
  known: ArchivalState,
  change: ArchivalChange | undefined,
  timeMs: number,
): NamespaceArchivalSet | typeof otherUri | undefined {
  const next = change === undefined ? known : nextArchivalState(known, change);
  if (next === otherUri) return otherUri;
  return next === known ? undefined : { kind: 'namespaceArchivalSet', timeMs, id, ...next };
}

/** The update says more of a namespace than its state. */
function saysMore({ description, ownerEmail, data, retentionMs }: Command['updateNamespace']): boolean {
  return [description, ownerEmail, data, retentionMs].some((said) => said !== undefined);
}

function rejected(reason: ClusterRejection['reason'], message: string): Result {
  return answer({ kind: 'rejected', rejection: { reason, message } });
}

function namespaceNotFound(id: string): Result {
  return rejected('namespace-not-found', `Namespace ${id} is not found.`);
}

function textProblem(description: string, ownerEmail: string, data: ReadonlyMap<string, string>): string | undefined {
  let bytes = utf8Bytes(description) + utf8Bytes(ownerEmail);
  for (const [name, value] of data) bytes += utf8Bytes(name) + utf8Bytes(value);
  if (bytes <= clusterLimits.namespaceTextBytesMax) return undefined;
  return `Namespace description, owner and data take ${bytes} bytes, more than the limit of ${clusterLimits.namespaceTextBytesMax}.`;
}
