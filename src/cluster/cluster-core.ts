/**
 * The pure core of the cluster actor: namespaces, search attributes, and what the cluster is called and signs with. Rare commands; the
 * answer of each waits for its commit, so that whoever is told "registered" can use the namespace at once.
 */
import { assert, unreachable } from '../kernel/assert.ts';
import type { Handled } from '../kernel/handled.ts';
import { type ArchivalChange, type ArchivalState, nextArchivalState, notArchived, otherUri } from './archival-state.ts';
import { ClusterState, type ClusterSnapshot, type Namespace } from './cluster-state.ts';
import type {
  AddDeadLetterQueue,
  AddSearchAttributes,
  CarryCluster,
  ClusterCommand,
  DeleteNamespace,
  EndNamespace,
  InitializeCluster,
  PurgeSearchAttributes,
  RegisterNamespace,
  RemoveSearchAttributes,
  UpdateNamespace,
} from './commands.ts';
import type { ClusterEffect } from './effects.ts';
import { recordWeight } from './record-weight.ts';
import type { CarriedPart, ClusterRecord, NamespaceArchivalSet } from './records.ts';
import type { ClusterRejection, ClusterReply } from './replies.ts';
import { systemNamespace } from '../kernel/system-namespace.ts';
import { utf8Bytes } from '../kernel/utf8.ts';
import { isIndexedValueType, isReservedSearchAttribute, systemSearchAttributes } from './search-attributes.ts';
import { searchAttributeSlots } from '../kernel/search-attribute-slots.ts';
import { searchAttributeTypeName } from '../kernel/search-attributes.ts';

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

/** Of the id, in the name of a deleted namespace; more when that name is taken. */
const deletedSuffixChars = 5;

type Result = Handled<ClusterRecord, ClusterReply, ClusterEffect>;
const done: ClusterReply = { kind: 'done' };

export class ClusterCore {
  readonly #state: ClusterState;
  /** What is not written again yet; undefined: nobody wants it. What is taken from it and not written comes again with all the rest. */
  #carrying: Iterator<CarriedPart, void> | undefined;

  /** Of a journal that begins at that offset. */
  constructor(journalStart = 0) {
    this.#state = new ClusterState(journalStart);
  }

  handle(command: ClusterCommand | CarryCluster, nowMs: number, _askId: number): Result {
    switch (command.kind) {
      case 'registerNamespace':
        return this.#register(command, nowMs);
      case 'updateNamespace':
        return this.#update(command, nowMs);
      case 'deleteNamespace':
        return this.#delete(command, nowMs);
      case 'endNamespace':
        return this.#end(command, nowMs);
      case 'addSearchAttributes':
        return this.#addSearchAttributes(command, nowMs);
      case 'removeSearchAttributes':
        return this.#removeSearchAttributes(command, nowMs);
      case 'purgeSearchAttributes':
        return this.#purgeSearchAttributes(command, nowMs);
      case 'addDeadLetterQueue':
        return this.#addDeadLetterQueue(command, nowMs);
      case 'initializeCluster':
        return this.#initialize(command, nowMs);
      case 'syncCluster':
        return unchanged;
      case 'carryCluster':
        return this.#carry(command, nowMs);
      default:
        return unreachable(command);
    }
  }

  /** Refused: nothing in it could be left out. */
  tooLarge(): undefined {
    return undefined;
  }

  idsOf(command: ClusterCommand | CarryCluster): { readonly command: string } {
    return { command: command.kind };
  }

  accept(handled: Result): void {
    if (handled.kind !== 'commit') return;
    for (const record of handled.before ?? []) this.#state.evolve(record);
    this.#state.evolve(handled.record);
  }

  evolve(record: ClusterRecord): void {
    this.#state.evolve(record);
  }

  /** Nothing here waits for anything but its commit. */
  cancel(_askId: number, _nowMs: number): Result {
    return { kind: 'wait', barrier: false, effects: [] };
  }

  /** Includes what is not committed yet, so it stands at no position: for decisions and tests. */
  get state(): Omit<ClusterSnapshot, 'position'> {
    return this.#state;
  }

  /** As in ClusterState, as is `lacking`. */
  get cut(): number {
    return this.#state.cut;
  }

  get lacking(): string | undefined {
    return this.#state.lacking;
  }

  /** What a journal weighs that holds nothing but what counts, as far as that was looked at: the last is all of it. Changes may come between them. */
  *weigh(): Generator<number, void> {
    let weight = 0;
    for (const part of this.#state.parts()) yield (weight += recordWeight(part));
  }

  canonicalState(): string {
    return this.#state.canonical();
  }

  #register(command: RegisterNamespace, timeMs: number): Result {
    const { id, name, description, ownerEmail, data, retentionMs } = command;
    if (name === '') return invalid('Namespace not set on request.');
    if (utf8Bytes(name) > clusterLimits.namespaceNameBytesMax) return invalid('Namespace length exceeds limit.');
    const problem = textProblem(description, ownerEmail, data);
    if (problem !== undefined) return invalid(problem);
    if (retentionMs < clusterLimits.retentionMsMin) return invalid('A valid retention period is not set on request.');
    if (name === systemNamespace.name || this.#state.namespaceByName(name) !== undefined || this.#state.namespaceById(id) !== undefined) {
      return rejected('namespace-exists', `Namespace "${name}" already exists`);
    }
    if (this.#state.liveNamespaces >= clusterLimits.namespacesMax) {
      return rejected('failed-precondition', `cluster has ${clusterLimits.namespacesMax} namespaces, its limit`);
    }
    const registered = { kind: 'namespaceRegistered', timeMs, id, name, description, ownerEmail, data, retentionMs } as const;
    const archival = archivalSet(id, notArchived, command.archival, timeMs);
    if (archival === otherUri) return invalid(otherUri);
    return archival === undefined ? commit(registered) : commit(archival, [registered]);
  }

  #update(command: UpdateNamespace, timeMs: number): Result {
    const known = this.#state.namespaceById(command.id);
    if (known === undefined) return namespaceNotFound(command.id);
    if (known.state === 'deleted') return rejected('failed-precondition', `Namespace ${known.name} is deleted.`);
    const retentionMs = command.retentionMs ?? known.retentionMs;
    if (retentionMs < clusterLimits.retentionMsMin) return invalid('A valid retention period is not set on request.');
    const description = command.description ?? known.description;
    const ownerEmail = command.ownerEmail ?? known.ownerEmail;
    const data = command.data === undefined ? known.data : new Map([...known.data, ...command.data]);
    const problem = textProblem(description, ownerEmail, data);
    if (problem !== undefined) return invalid(problem);
    const { id, state } = known;
    if (command.state === 'registered' && state === 'deprecated') return invalid('Invalid namespace state update.');
    const archival = archivalSet(id, known.archival, command.archival, timeMs);
    if (archival === otherUri) return invalid(otherUri);
    const records: ClusterRecord[] = [];
    if (saysMore(command)) records.push({ kind: 'namespaceUpdated', timeMs, id, description, ownerEmail, data, retentionMs });
    if (archival !== undefined) records.push(archival);
    if (command.state === 'deprecated' && state !== 'deprecated') records.push({ kind: 'namespaceDeprecated', timeMs, id });
    const last = records.pop();
    return last === undefined ? unchanged : commit(last, records);
  }

  /** Asked again for one that is deleted, it changes nothing, as in Temporal. */
  #delete({ id, graceMs, deleteDelayMs }: DeleteNamespace, timeMs: number): Result {
    const known = this.#state.namespaceById(id);
    if (known === undefined) return namespaceNotFound(id);
    if (known.state === 'deleted') return unchanged;
    if (this.#state.deletions.size >= clusterLimits.deletedNamespacesMax) {
      return rejected('failed-precondition', `cluster has ${clusterLimits.deletedNamespacesMax} deleted namespaces, its limit`);
    }
    const name = this.#nameAfterDeletion(known);
    return commit({ kind: 'namespaceDeleted', timeMs, id, name, purgeAtMs: timeMs + graceMs, deleteDelayMs });
  }

  /** Its entry goes in the same moment, unless it has a delay. */
  #end({ id }: EndNamespace, timeMs: number): Result {
    const deletion = this.#state.deletions.get(id);
    if (deletion === undefined) return unchanged;
    const { purgedAtMs = timeMs, deleteDelayMs } = deletion;
    const records: ClusterRecord[] = [];
    if (deletion.purgedAtMs === undefined) records.push({ kind: 'namespacePurged', timeMs, id });
    if (purgedAtMs + deleteDelayMs <= timeMs) records.push({ kind: 'namespaceRemoved', timeMs, id });
    const last = records.pop();
    return last === undefined ? unchanged : commit(last, records);
  }

  /** As Temporal names it. Whoever knows the id may have taken even the whole of it: then there is a number behind it. */
  #nameAfterDeletion({ id, name }: Namespace): string {
    const isTaken = (renamed: string): boolean => this.#state.namespaceByName(renamed) !== undefined;
    for (let length = deletedSuffixChars; length <= id.length; length++) {
      const renamed = `${name}-deleted-${id.slice(0, length)}`;
      if (!isTaken(renamed)) return renamed;
    }
    let number = 2;
    while (isTaken(`${name}-deleted-${id}-${number}`)) number += 1;
    return `${name}-deleted-${id}-${number}`;
  }

  #addSearchAttributes(command: AddSearchAttributes, timeMs: number): Result {
    const { namespaceId } = command;
    if (!this.#isKnown(namespaceId)) return namespaceNotFound(namespaceId);
    if (command.attributes.size === 0) return invalid('SearchAttributes are not set on request.');
    const existing = this.#effectiveAttributes(namespaceId);
    const added = new Map<string, number>();
    for (const [name, type] of command.attributes) {
      if (isReservedSearchAttribute(name)) return invalid(`Search attribute ${name} is reserved by system.`);
      if (name === '' || name.length > clusterLimits.searchAttributeNameCharsMax)
        return invalid(`Search attribute name "${name}" is not valid.`);
      if (!isIndexedValueType(type)) return invalid(`Unknown search attribute type: ${type}.`);
      if (!existing.has(name)) added.set(name, type);
    }
    if (added.size === 0) return unchanged;
    const slots = this.#state.slotsFor(namespaceId, added);
    for (const [name, type] of added) if (!slots.has(name)) return this.#noSlot(namespaceId, type);
    const generations = this.#state.generationsFor(namespaceId, added);
    return commit({ kind: 'searchAttributesAdded', timeMs, namespaceId, attributes: added, slots, generations });
  }

  #noSlot(namespaceId: string, type: number): Result {
    const max = searchAttributeSlots.get(type)?.length ?? 0;
    const tooMany = `Unable to create search attributes: cannot have more than ${max} search attribute of type ${searchAttributeTypeName(type)}.`;
    const waiting = this.#state.slotsWaiting(namespaceId, type);
    if (waiting === 0) return invalid(tooMany);
    const why = 'what workflows have stored in them is being cleared, and then others can take their place';
    return rejected(
      'resource-exhausted',
      `${tooMany} ${waiting} of them ${waiting === 1 ? 'was' : 'were'} removed: ${why}. Try again later.`,
    );
  }

  #removeSearchAttributes(command: RemoveSearchAttributes, timeMs: number): Result {
    const { namespaceId, names } = command;
    if (!this.#isKnown(namespaceId)) return namespaceNotFound(namespaceId);
    if (names.length === 0) return invalid('SearchAttributes are not set on request.');
    const own = this.#state.ownAttributes(namespaceId);
    for (const name of names) {
      if (systemSearchAttributes.has(name)) return invalid(`Unable to remove non-custom search attributes: ${name}.`);
    }
    const removed = [...new Set(names)].filter((name) => own.has(name));
    return removed.length === 0 ? unchanged : commit({ kind: 'searchAttributesRemoved', timeMs, namespaceId, names: removed });
  }

  #purgeSearchAttributes({ namespaceId, slots }: PurgeSearchAttributes, timeMs: number): Result {
    const purged = [...new Set(slots)].filter((slot) => this.#state.mustBeCleared(namespaceId, slot));
    return purged.length === 0 ? unchanged : commit({ kind: 'searchAttributesPurged', timeMs, namespaceId, slots: purged });
  }

  #addDeadLetterQueue({ category, sourceCluster }: AddDeadLetterQueue, timeMs: number): Result {
    const queues = this.#state.deadLetterQueues;
    if (queues.some((queue) => queue.category === category && queue.sourceCluster === sourceCluster)) return unchanged;
    if (!/^[a-z-]+$/.test(category)) return invalid(`"${category}" is no category of tasks`);
    if (!/^[A-Za-z0-9._-]+$/.test(sourceCluster)) return invalid(`no topic can be named after the cluster "${sourceCluster}"`);
    if (queues.length >= clusterLimits.deadLetterQueuesMax) {
      return rejected('failed-precondition', `cluster has ${clusterLimits.deadLetterQueuesMax} dead letter queues, its limit`);
    }
    return commit({ kind: 'deadLetterQueueAdded', timeMs, number: queues.length + 1, category, sourceCluster, namesCluster: true });
  }

  #initialize(command: InitializeCluster, timeMs: number): Result {
    if (this.#state.identity !== undefined) return unchanged;
    const { clusterId, clusterName, tokenKey, historyShards } = command;
    if (tokenKey.length < clusterLimits.tokenKeyBytesMin)
      return invalid(`token key has ${tokenKey.length} bytes, fewer than ${clusterLimits.tokenKeyBytesMin}`);
    return commit({ kind: 'clusterInitialized', timeMs, clusterId, clusterName, tokenKey, historyShards });
  }

  #carry({ cut, isFirst }: CarryCluster, timeMs: number): Result {
    const records: ClusterRecord[] = isFirst ? [{ kind: 'carryingBegun', timeMs, cut }] : [];
    const parts = isFirst ? this.#state.parts() : this.#carrying;
    assert(parts !== undefined, 'what is carried on was begun');
    this.#carrying = parts;
    let weight = 0;
    let isAll = false;
    while (!isAll && records.length < clusterLimits.carriedMax && weight < clusterLimits.carriedWeightMax) {
      const next = parts.next();
      if (next.done === true) isAll = true;
      else records.push({ ...next.value, timeMs });
      if (next.value !== undefined) weight += recordWeight(next.value);
    }
    if (isAll) records.push({ kind: 'carryingFinished', timeMs, cut });
    const record = records.pop();
    assert(record !== undefined, 'something is carried, or all of it was');
    return { kind: 'commit', before: records, record, reply: undefined, effects: [{ kind: 'carried', cut, isAll }] };
  }

  #isKnown(namespaceId: string): boolean {
    if (namespaceId === '') return true;
    const namespace = this.#state.namespaceById(namespaceId);
    return namespace !== undefined && namespace.state !== 'deleted';
  }

  #effectiveAttributes(namespaceId: string): ReadonlyMap<string, number> {
    return this.#state.namespaceById(namespaceId)?.customSearchAttributes ?? this.#state.clusterSearchAttributes;
  }
}

/** Answered behind the barrier and all earlier commits: what it says is so, is committed. */
const unchanged: Result = { kind: 'answer', reply: done, effects: [] };

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

/** Than its state. */
function saysMore({ description, ownerEmail, data, retentionMs }: UpdateNamespace): boolean {
  return [description, ownerEmail, data, retentionMs].some((said) => said !== undefined);
}

function rejected(reason: ClusterRejection['reason'], message: string): Result {
  return { kind: 'answer', reply: { kind: 'rejected', rejection: { reason, message } }, effects: [] };
}

function invalid(message: string): Result {
  return rejected('invalid-argument', message);
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
