/**
 * The fold of the cluster's journal. The cluster actor decides on one; every process keeps another, of committed records only, and
 * looks namespaces up in it.
 *
 * Where the journal begins later than 0, what stood before was written again, in parts, and changes came between them:
 *
 *     start ─ claim ─ carryingBegun ── part ── change ── part ── change ── part ── carryingFinished ── change ─ …
 *                                       A       of B      B       of A      C            whole
 *
 * A change of what has not come yet is passed over: its part, which comes, was made behind it. Whoever begins at 0 knows all that the parts say.
 */
import { assert, unreachable } from '../kernel/assert.ts';
import type { AttributesCarried, CarriedPart, ClusterIdentity, ClusterRecord } from './cluster-records.ts';
import type { KnownDeadLetterQueue, NamespaceCarried, NamespaceTexts } from './cluster-records.ts';
import { type ArchivalState, notArchived } from './archival-state.ts';
import { AttributeGenerations } from './attribute-generations.ts';
import { type NamespaceDeletion, NamespaceDeletions } from './deletions.ts';
import { SlotAssignment } from './search-attribute-slots.ts';
import { systemSearchAttributes } from './search-attributes.ts';

export type Namespace = NamespaceTexts & {
  readonly id: string;
  /** A deleted namespace is called `<name>-deleted-<beginning of its id>`. */
  readonly name: string;
  /** What it was registered as: its name, until it is deleted. */
  readonly registeredName: string;
  readonly state: 'registered' | 'deprecated' | 'deleted';
  readonly archival: ArchivalState;
  readonly createdTimeMs: number;
  /** System and custom attributes: name -> IndexedValueType. The same map until it changes. */
  readonly searchAttributeTypes: ReadonlyMap<string, number>;
  readonly customSearchAttributes: ReadonlyMap<string, number>;
  /** Custom attributes: name -> slot (`Keyword07`), the column in which a database keeps them. */
  readonly searchAttributeSlots: ReadonlyMap<string, string>;
  /** Custom attributes that were removed and added again: name → which one it is, from 1. Values of the ones before are none of it. */
  readonly searchAttributeGenerations: ReadonlyMap<string, number>;
};

type Attributes = Pick<
  Namespace,
  'searchAttributeTypes' | 'customSearchAttributes' | 'searchAttributeSlots' | 'searchAttributeGenerations'
>;

/** What may be read of it. */
export interface ClusterSnapshot {
  /** How much of the journal it is: the offset behind its last record, 0 = nothing. It never falls. */
  readonly position: number;
  namespaceByName(name: string): Namespace | undefined;
  namespaceById(id: string): Namespace | undefined;
  namespaces(): readonly Namespace[];
  readonly deletions: ReadonlyMap<string, NamespaceDeletion>;
  /** What it was registered as, also of one whose entry is gone; undefined: nobody knows, or not any more. */
  registeredNameOf(id: string): string | undefined;
  readonly systemSearchAttributes: ReadonlyMap<string, number>;
  /** Custom attributes that every namespace has. */
  readonly clusterSearchAttributes: ReadonlyMap<string, number>;
  /** Slots with values of removed attributes, by namespace id ('' = every namespace), for whoever clears them. */
  slotsToClear(): ReadonlyMap<string, readonly string[]>;
  /** The queues in the order of their numbers, from 1. */
  readonly deadLetterQueues: readonly KnownDeadLetterQueue[];
  /** Undefined until the cluster's very first start has committed it. */
  readonly identity: ClusterIdentity | undefined;
}

/** Generations in one record. */
const CARRIED_GENERATIONS = 1_000;
const CARRIED_NAMES = 500;

/** `unknown`: something that the journal no longer holds; `carried`: what was carried to that cut is not all there yet. */
type Beginning = 'whole' | 'unknown' | { readonly carried: number };

export class ClusterState implements ClusterSnapshot {
  position = 0;
  /** All that counts and stood before it stands behind it as well. */
  cut = 0;
  readonly systemSearchAttributes = systemSearchAttributes;
  identity: ClusterIdentity | undefined = undefined;
  deadLetterQueues: readonly KnownDeadLetterQueue[] = [];
  clusterSearchAttributes: ReadonlyMap<string, number> = new Map();
  readonly #byId = new Map<string, Namespace>();
  readonly #byName = new Map<string, Namespace>();
  /** The attributes of each namespace itself, without those of the cluster. */
  readonly #ownAttributes = new Map<string, ReadonlyMap<string, number>>();
  /** For decisions, which change nothing. */
  readonly slots = new SlotAssignment();
  readonly generations = new AttributeGenerations();
  readonly #deletions = new NamespaceDeletions();
  #sorted: readonly Namespace[] | undefined = undefined;
  /** Kept until the attributes of the cluster change. */
  #attributesOfMost: Attributes | undefined = undefined;
  readonly #journalStart: number;
  #beginning: Beginning;

  constructor(journalStart = 0) {
    this.#journalStart = journalStart;
    this.#beginning = journalStart === 0 ? 'whole' : 'unknown';
  }

  /** For people: what stood before the beginning of the journal was not all found behind it; undefined: it was, as far as it was read. */
  get lacking(): string | undefined {
    if (this.#beginning === 'whole') return undefined;
    return (
      `the journal starts at ${this.#journalStart}, not at 0, and the records before it were not written again: were segments deleted ` +
      '(retention.ms, retention.bytes), or records (DeleteRecords)?'
    );
  }

  namespaceByName(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  namespaceById(id: string): Namespace | undefined {
    return this.#byId.get(id);
  }

  namespaces(): readonly Namespace[] {
    this.#sorted ??= [...this.#byId.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  get deletions(): ReadonlyMap<string, NamespaceDeletion> {
    return this.#deletions.underWay;
  }

  get liveNamespaces(): number {
    return this.#byId.size - this.deletions.size;
  }

  registeredNameOf(id: string): string | undefined {
    return this.#byId.get(id)?.registeredName ?? this.#deletions.nameOfRemoved(id);
  }

  /** Custom attributes of a namespace, or of the cluster for ''. */
  ownAttributes(namespaceId: string): ReadonlyMap<string, number> {
    return namespaceId === '' ? this.clusterSearchAttributes : (this.#ownAttributes.get(namespaceId) ?? noAttributes);
  }

  slotsToClear(): ReadonlyMap<string, readonly string[]> {
    return new Map(this.slots.removed());
  }

  committed(record: ClusterRecord, { offset }: { readonly offset: number }): void {
    this.evolve(record);
    this.position = offset + 1;
  }

  evolve(record: ClusterRecord): void {
    if (!this.#isPassedOver(record)) this.#apply(record);
  }

  /** All that counts, as it is when each part is taken: changes may come between them. */
  *parts(): Generator<CarriedPart, void> {
    yield { kind: 'clusterCarried', identity: this.identity, deadLetterQueues: this.deadLetterQueues };
    yield* this.#attributeParts('');
    for (const { id } of this.#byId.values()) {
      yield this.#namespacePart(this.#known(id));
      yield* this.#attributeParts(id);
    }
    for (const names of inParts(this.#deletions.removedNames, CARRIED_NAMES)) yield { kind: 'removedNamesCarried', names };
  }

  #apply(record: ClusterRecord): void {
    switch (record.kind) {
      case 'clusterInitialized': {
        assert(this.identity === undefined, 'a cluster is initialized once');
        const { clusterId, clusterName, tokenKey, historyShards } = record;
        this.identity = { clusterId, clusterName, tokenKey, historyShards };
        return;
      }
      case 'namespaceRegistered': {
        const { kind: _, timeMs: createdTimeMs, ...said } = record;
        const state = { registeredName: said.name, state: 'registered', archival: notArchived, createdTimeMs } as const;
        return this.#put({ ...said, ...state, ...this.#attributesOf(said.id) });
      }
      case 'namespaceUpdated': {
        const { kind: _, timeMs: _at, ...said } = record;
        return this.#put({ ...this.#known(said.id), ...said });
      }
      case 'namespaceArchivalSet': {
        const { id, isEnabled, uri } = record;
        return this.#put({ ...this.#known(id), archival: { isEnabled, uri } });
      }
      case 'namespaceDeprecated':
        return this.#put({ ...this.#known(record.id), state: 'deprecated' });
      case 'namespaceDeleted': {
        const namespace = this.#known(record.id);
        this.#byName.delete(namespace.name);
        const { id, purgeAtMs, deleteDelayMs } = record;
        this.#deletions.deleted({ id, purgeAtMs, deleteDelayMs, purgedAtMs: undefined });
        return this.#put({ ...namespace, name: record.name, state: 'deleted' });
      }
      case 'namespacePurged':
        return this.#deletions.purged(record.id, record.timeMs);
      case 'namespaceRemoved':
        return this.#remove(this.#known(record.id));
      case 'searchAttributesAdded': {
        const { namespaceId, attributes, slots, generations } = record;
        this.generations.add(namespaceId, attributes.keys(), generations);
        this.slots.add(namespaceId, slots);
        return this.#setAttributes(namespaceId, new Map([...this.ownAttributes(namespaceId), ...attributes]));
      }
      case 'searchAttributesRemoved': {
        const removed = new Set(record.names);
        this.slots.remove(record.namespaceId, removed);
        const kept = [...this.ownAttributes(record.namespaceId)].filter(([name]) => !removed.has(name));
        return this.#setAttributes(record.namespaceId, new Map(kept));
      }
      case 'searchAttributesPurged':
        return this.slots.purge(record.namespaceId, record.slots);
      case 'deadLetterQueueAdded': {
        const { number, category, sourceCluster } = record;
        assert(number === this.deadLetterQueues.length + 1, 'dead letter queues are numbered one behind the other');
        this.deadLetterQueues = [...this.deadLetterQueues, { number, category, sourceCluster }];
        return;
      }
      case 'carryingBegun':
        this.#beginning = { carried: record.cut };
        return;
      case 'clusterCarried':
        this.identity = record.identity;
        this.deadLetterQueues = record.deadLetterQueues;
        return;
      case 'namespaceCarried':
        return this.#carryNamespace(record);
      case 'attributesCarried':
        return this.#carryAttributes(record);
      case 'removedNamesCarried':
        for (const [id, name] of record.names) this.#deletions.removed(id, name);
        return;
      case 'carryingFinished':
        this.#beginning = 'whole';
        this.cut = record.cut;
        return;
      default:
        return unreachable(record);
    }
  }

  #isPassedOver(record: ClusterRecord): boolean {
    const beginning = this.#beginning;
    switch (record.kind) {
      case 'carryingBegun':
        return beginning === 'whole';
      case 'carryingFinished':
        return beginning !== 'whole' && (beginning === 'unknown' || beginning.carried !== record.cut);
      case 'clusterCarried':
        if (beginning === 'whole') assert(record.identity?.clusterId === this.identity?.clusterId, whatIsWhole);
        return typeof beginning === 'string';
      case 'namespaceCarried':
      case 'removedNamesCarried':
        return typeof beginning === 'string';
      case 'attributesCarried':
        return typeof beginning === 'string' || !this.#isThere(record.namespaceId);
      case 'searchAttributesAdded':
      case 'searchAttributesRemoved':
      case 'searchAttributesPurged':
        return beginning !== 'whole' && (beginning === 'unknown' || !this.#isThere(record.namespaceId));
      case 'namespaceUpdated':
      case 'namespaceArchivalSet':
      case 'namespaceDeprecated':
      case 'namespaceDeleted':
      case 'namespacePurged':
      case 'namespaceRemoved':
        return beginning !== 'whole' && (beginning === 'unknown' || !this.#byId.has(record.id));
      case 'deadLetterQueueAdded':
        return beginning !== 'whole' && (beginning === 'unknown' || record.number !== this.deadLetterQueues.length + 1);
      case 'clusterInitialized':
      case 'namespaceRegistered':
        return beginning === 'unknown';
      default:
        return unreachable(record);
    }
  }

  #isThere(namespaceId: string): boolean {
    return namespaceId === '' || this.#byId.has(namespaceId);
  }

  // ── What is carried ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #namespacePart(namespace: Namespace): CarriedPart {
    const { id, name, registeredName, description, ownerEmail, data, retentionMs, createdTimeMs, archival } = namespace;
    return {
      kind: 'namespaceCarried',
      ...{ id, name, registeredName, description, ownerEmail, data, retentionMs, createdTimeMs },
      isDeprecated: namespace.state === 'deprecated',
      isArchived: archival.isEnabled,
      archivalUri: archival.uri,
      deletion: this.#deletions.underWay.get(id),
    };
  }

  *#attributeParts(namespaceId: string): Generator<CarriedPart, void> {
    for (const generations of inParts(this.generations.all(namespaceId), CARRIED_GENERATIONS)) {
      const attributes = this.ownAttributes(namespaceId);
      const columns = this.slots.columnsOf(namespaceId);
      yield { kind: 'attributesCarried', namespaceId, attributes, columns, generations };
    }
  }

  #carryNamespace(record: NamespaceCarried): void {
    const { kind: _, timeMs: _at, isDeprecated, isArchived: isEnabled, archivalUri: uri, deletion, ...said } = record;
    if (deletion !== undefined) this.#deletions.deleted({ id: said.id, ...deletion });
    const state = deletion !== undefined ? 'deleted' : isDeprecated ? 'deprecated' : 'registered';
    this.#put({ ...said, state, archival: { isEnabled, uri }, ...this.#attributesOf(said.id) });
  }

  #carryAttributes({ namespaceId, attributes, columns, generations }: AttributesCarried): void {
    this.generations.add(namespaceId, generations.keys(), generations);
    this.slots.setColumns(namespaceId, columns);
    this.#setAttributes(namespaceId, attributes);
  }

  #known(id: string): Namespace {
    const namespace = this.#byId.get(id);
    assert(namespace !== undefined, `namespace ${id} is in the journal before it changes`);
    return namespace;
  }

  #put(namespace: Namespace): void {
    this.#byId.set(namespace.id, namespace);
    this.#byName.set(namespace.name, namespace);
    this.#sorted = undefined;
  }

  /** Nothing of it is left, in no column either. */
  #remove({ id, name, registeredName }: Namespace): void {
    this.#byId.delete(id);
    this.#byName.delete(name);
    this.#ownAttributes.delete(id);
    this.slots.forget(id);
    this.generations.forget(id);
    this.#deletions.removed(id, registeredName);
    this.#sorted = undefined;
  }

  /** Most namespaces have none of their own, and there may be a hundred thousand: they hold one and the same. */
  #attributesOf(id: string): Attributes {
    if (this.ownAttributes(id).size > 0) return this.#attributesWith(id);
    return (this.#attributesOfMost ??= this.#attributesWith(''));
  }

  /** '': none of its own. */
  #attributesWith(id: string): Attributes {
    const own = this.#ownAttributes.get(id) ?? noAttributes;
    const customSearchAttributes = new Map([...this.clusterSearchAttributes, ...own]);
    return {
      customSearchAttributes,
      searchAttributeTypes: new Map([...customSearchAttributes, ...systemSearchAttributes]),
      searchAttributeSlots: this.slots.slotsOf(id),
      searchAttributeGenerations: this.generations.of(id, own.keys(), this.clusterSearchAttributes.keys()),
    };
  }

  #setAttributes(namespaceId: string, attributes: ReadonlyMap<string, number>): void {
    if (namespaceId !== '') {
      this.#ownAttributes.set(namespaceId, attributes);
      return this.#put({ ...this.#known(namespaceId), ...this.#attributesOf(namespaceId) });
    }
    this.clusterSearchAttributes = attributes;
    this.#attributesOfMost = undefined;
    for (const namespace of [...this.#byId.values()]) this.#put({ ...namespace, ...this.#attributesOf(namespace.id) });
  }
}

const noAttributes: ReadonlyMap<string, number> = new Map();

const whatIsWhole =
  'a journal that begins at 0 holds all that is written again in it. Was its topic restored from a copy with other offsets? Records need their original offsets';

/** Each entry is as it is when it is taken. */
function* inParts<Value>(entries: Iterable<readonly [string, Value]>, max: number): Generator<ReadonlyMap<string, Value>, void> {
  let part = new Map<string, Value>();
  for (const [name, value] of entries) {
    part.set(name, value);
    if (part.size < max) continue;
    yield part;
    part = new Map();
  }
  if (part.size > 0) yield part;
}
