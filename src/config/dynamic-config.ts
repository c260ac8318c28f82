/**
 * Dynamic configuration: what operators set while the server serves, in the form that Temporal has for it.
 *
 *     flags, server file ──▶ constants ─┐
 *     dynamic-config-file.ts ─▶ entries ─┴▶ DynamicConfig ── values(group, filter) ──▶ typed values, worked out once until the next reload
 */
import type { ReadValue, Setting, SettingGroup, SettingScope, ValuesOf } from './dynamic-setting.ts';

export type ConstraintName = (typeof constraintNames)[number];

export const constraintNames = [
  'namespace',
  'namespaceId',
  'taskQueueName',
  'taskType',
  'historyTaskType',
  'shardId',
  'destination',
] as const;

/** Names of task types in lower case. */
export type Constraints = { readonly [Name in ConstraintName]?: string | number };

export type Entry = { readonly value: unknown; readonly constraints: Constraints };

/** Entries by key in lower case, whose values suit their keys. */
export type DynamicEntries = ReadonlyMap<string, readonly Entry[]>;

export const noEntries: DynamicEntries = new Map();

/** The limit of a file that is parsed while the server serves, in one turn. */
const fileBytesMax = 256 * 1024;

/** Throws for what is not to be read: a pipe would never end, and a large file would hold up everybody. */
export function checkDynamicConfigFile(stats: { isFile(): boolean; readonly size: number }): void {
  if (!stats.isFile()) throw new Error('it is no file');
  if (stats.size > fileBytesMax) throw new Error(`it has ${stats.size} bytes, and may have ${fileBytesMax}`);
}

/** The first step that an entry fits counts. Its constraints are exactly the step's: one of a namespace and a queue says nothing of others. */
const steps: { readonly [scope in SettingScope]: readonly (readonly ConstraintName[])[] } = {
  global: [[]],
  namespace: [['namespace'], []],
  taskQueue: [['namespace', 'taskQueueName', 'taskType'], ['namespace', 'taskQueueName'], ['taskQueueName'], ['namespace'], []],
  shard: [['shardId'], []],
  destination: [['namespace', 'destination'], ['destination'], ['namespace'], []],
};

export function fitsScope(constraints: Constraints, scope: SettingScope): boolean {
  return steps[scope].some((step) => hasExactly(constraints, step));
}

export function sameConstraints(one: Constraints, other: Constraints): boolean {
  return constraintNames.every((name) => one[name] === other[name]);
}

export function lookUp(entries: readonly Entry[], scope: SettingScope, filter: Constraints): Entry | undefined {
  for (const step of steps[scope]) {
    const found = entries.find(
      ({ constraints }) => hasExactly(constraints, step) && step.every((name) => constraints[name] === filter[name]),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function hasExactly(constraints: Constraints, names: readonly ConstraintName[]): boolean {
  return constraintNames.every((name) => names.includes(name) === (constraints[name] !== undefined));
}

export interface DynamicValues {
  /** Cheap when it was asked before: what is asked per task holds on to nothing. */
  values<Group extends SettingGroup>(group: Group, filter?: Constraints): ValuesOf<Group>;
}

export class DynamicConfig implements DynamicValues {
  readonly #constants: DynamicEntries;
  #entries: DynamicEntries;
  #known = new WeakMap<SettingGroup, KnownValues>();

  /** `constants` hold where `entries` say nothing. */
  constructor(constants: DynamicEntries, entries = noEntries) {
    this.#constants = constants;
    this.#entries = entries;
  }

  /** These entries hold from here on, in place of those that there were. */
  replace(entries: DynamicEntries): void {
    this.#entries = entries;
    this.#known = new WeakMap();
  }

  values<Group extends SettingGroup>(group: Group, filter: Constraints = {}): ValuesOf<Group> {
    let known = this.#known.get(group);
    if (known === undefined) this.#known.set(group, (known = { ofAll: this.#ofAll(group), byFilter: new Map() }));
    return (known.ofAll ?? this.#filtered(group, filter, known.byFilter)) as ValuesOf<Group>;
  }

  /** Undefined: what holds depends on what it is asked for. */
  #ofAll(group: SettingGroup): ValuesOf<SettingGroup> | undefined {
    return Object.values(group).every(({ scope }) => scope === 'global') ? this.#work(group, {}) : undefined;
  }

  #filtered(group: SettingGroup, filter: Constraints, known: KnownValues['byFilter']): ValuesOf<SettingGroup> {
    const name = JSON.stringify(constraintNames.map((constraint) => filter[constraint]));
    let values = known.get(name);
    if (values === undefined) {
      if (known.size >= KNOWN_MAX) known.clear();
      known.set(name, (values = this.#work(group, filter)));
    }
    return values;
  }

  #work(group: SettingGroup, filter: Constraints): ValuesOf<SettingGroup> {
    return Object.fromEntries(Object.entries(group).map(([name, setting]) => [name, this.#value(setting, filter)]));
  }

  #value<Value>(setting: Setting<Value>, filter: Constraints): Value {
    for (const entries of [this.#entries, this.#constants]) {
      const entry = lookUp(entries.get(setting.key.toLowerCase()) ?? [], setting.scope, filter);
      const read: ReadValue<Value> | undefined = entry === undefined ? undefined : setting.read(entry.value);
      if (read !== undefined && 'value' in read) return read.value;
    }
    return setting.default;
  }
}

type KnownValues = {
  readonly ofAll: ValuesOf<SettingGroup> | undefined;
  readonly byFilter: Map<string, ValuesOf<SettingGroup>>;
};

/** Filters of a group whose values are remembered. */
const KNOWN_MAX = 10_000;
