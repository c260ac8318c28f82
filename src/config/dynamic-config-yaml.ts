/**
 * A file of dynamic configuration, as Temporal has them:
 *
 *     history.TaskDLQUnexpectedErrorAttempts:     key, in any case
 *       - value: 20                               an entry: it holds where all its constraints do
 *         constraints: {}
 */
import * as dynamic from './dynamic-config.ts';
import type { Setting } from './dynamic-setting.ts';
import { dynamicSettings, findSetting, notUsed } from './dynamic-settings.ts';
import { inFileOrder, type Path, type Problem, type Report } from './problem.ts';
import { shown } from './shown.ts';
import { suggest } from './suggest.ts';
import { parseYamlFile, pathText, valueOf, type YamlFile } from './yaml-file.ts';

export type DynamicConfigText = {
  /** Undefined when there are errors among the problems. */
  readonly entries: dynamic.DynamicEntries | undefined;
  readonly problems: readonly Problem[];
};

/** What does not have the form of such a file is an error; what a key does not take is left out, with a warning. */
export function readDynamicConfig(source: string): DynamicConfigText {
  const yaml = parseYamlFile(source);
  if (yaml.problems.length > 0) return { entries: undefined, problems: yaml.problems };
  const problems: Problem[] = [];
  const report: Report = (path, message, severity = 'error') => {
    problems.push({ severity, ...yaml.locate(path, 'value'), path: pathText(path), message });
  };
  const entries = readKeys(yaml, report);
  const isBroken = problems.some(({ severity }) => severity === 'error');
  return { entries: isBroken ? undefined : entries, problems: inFileOrder(problems) };
}

function readKeys(yaml: YamlFile, report: Report): dynamic.DynamicEntries {
  const found = new Map<string, readonly dynamic.Entry[]>();
  const whole = valueOf(yaml);
  if (whole instanceof Error) report([], whole.message);
  else if (whole !== undefined && whole !== null && !isGroup(whole)) report([], `expected keys, got ${shown(whole)}`);
  if (!isGroup(whole)) return found;
  const withoutEffect: string[] = [];
  for (const [key, value] of Object.entries(whole)) {
    const entries = readEntries([key], value, report);
    const setting = findSetting(key);
    if (setting === undefined) withoutEffect.push(unusedKey(key, yaml, report));
    else if (found.has(key.toLowerCase()))
      report([key], 'this key is in the file already, in another case: these entries are not used', 'warning');
    else found.set(key.toLowerCase(), usable(setting, entries, report));
  }
  if (withoutEffect.length > 0) report([], `keys that have no effect in this server: ${withoutEffect.join(', ')}`, 'warning');
  return found;
}

function unusedKey(key: string, { locate }: YamlFile, report: Report): string {
  const known = dynamicSettings.map((setting) => setting.key);
  const meant = suggest(key, known);
  if (meant !== undefined) report([key], `unknown key; did you mean ${meant}?`, 'warning');
  return `${key} (line ${locate([key], 'key').line})`;
}

type PlacedEntry = dynamic.Entry & { readonly path: Path };

function readEntries(path: Path, value: unknown, report: Report): readonly PlacedEntry[] {
  if (!Array.isArray(value)) {
    report(path, `expected a list of entries, such as "- value: ${typeof value === 'object' ? '1' : shown(value)}", got ${shown(value)}`);
    return [];
  }
  if (value.length === 0) report(path, 'no entries: the default applies', 'warning');
  return value.flatMap((entry: unknown, index) => readEntry([...path, index], entry, report) ?? []);
}

function readEntry(path: Path, entry: unknown, report: Report): PlacedEntry | undefined {
  if (!isGroup(entry)) {
    report(path, `expected value and constraints, got ${shown(entry)}`);
    return undefined;
  }
  for (const name of Object.keys(entry)) {
    if (name !== 'value' && name !== 'constraints') report([...path, name], 'unknown key; an entry has value and constraints');
  }
  if (!Object.hasOwn(entry, 'value')) {
    report(path, 'value is missing');
    return undefined;
  }
  return { value: entry['value'], constraints: readConstraints([...path, 'constraints'], entry['constraints'], report), path };
}

function readConstraints(path: Path, given: unknown, report: Report): dynamic.Constraints {
  if (given === undefined || given === null) return {};
  if (!isGroup(given)) {
    report(path, `expected names and values, such as {namespace: orders}, got ${shown(given)}`);
    return {};
  }
  const constraints: { [name in dynamic.ConstraintName]?: string | number } = {};
  for (const [word, value] of Object.entries(given)) {
    const name = dynamic.constraintNames.find((known) => known.toLowerCase() === word.toLowerCase());
    if (name === undefined) {
      report([...path, word], `unknown constraint; there are ${dynamic.constraintNames.join(', ')}`);
      continue;
    }
    const read = readConstraint(name, value);
    if (constraints[name] !== undefined) report([...path, word], 'this constraint is already here, in other letter case');
    else if (read === undefined) report([...path, word], `expected ${expected[name]}, got ${shown(value)}`);
    else constraints[name] = read;
  }
  return constraints;
}

const expected: { readonly [name in dynamic.ConstraintName]: string } = {
  namespace: 'the name of a namespace',
  namespaceId: 'the id of a namespace',
  taskQueueName: 'the name of a task queue',
  taskType: 'Workflow, Activity or Nexus',
  historyTaskType: 'the name or the number of a type of tasks',
  shardId: 'the number of a shard, from 1 on',
  destination: 'the name of a destination',
};

const taskTypes = ['workflow', 'activity', 'nexus'];

function readConstraint(name: dynamic.ConstraintName, value: unknown): string | number | undefined {
  const text = typeof value === 'string' && value !== '' ? value : undefined;
  const count = Number.isSafeInteger(value) && Number(value) >= 1 ? Number(value) : undefined;
  switch (name) {
    case 'shardId':
      return count;
    case 'taskType':
      return count === undefined ? taskTypes.find((known) => known === text?.toLowerCase()) : taskTypes[count - 1];
    case 'historyTaskType':
      return count ?? text?.toLowerCase();
    case 'namespace':
    case 'namespaceId':
    case 'taskQueueName':
    case 'destination':
      return text;
  }
}

function usable(setting: Setting<unknown>, entries: readonly PlacedEntry[], report: Report): readonly dynamic.Entry[] {
  const used: PlacedEntry[] = [];
  for (const entry of entries) {
    const { constraints } = entry;
    const read = setting.read(entry.value);
    const place = [...entry.path, 'value'];
    if (!dynamic.fitsScope(constraints, setting.scope)) report(entry.path, `this entry is not used: ${unfit(setting)}`, 'warning');
    else if (used.some((other) => dynamic.sameConstraints(other.constraints, constraints)))
      report(entry.path, 'this entry is not used: the key has one with the same constraints before it', 'warning');
    else if ('problem' in read) report(place, notUsed(read.problem), 'warning');
    else used.push(entry);
    if ('note' in read && read.note !== undefined) report(place, read.note, 'warning');
  }
  return used.map(({ value, constraints }) => ({ value, constraints }));
}

function unfit({ scope }: Setting<unknown>): string {
  return scope === 'global' ? 'the key is for the whole server and cannot have constraints' : 'the key takes other constraints';
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
