/**
 * One key of the dynamic configuration: what it is called, what it may be, and its default.
 *
 *     { enabled: onOff('history.TaskDLQEnabled', true, 'About it.'), … }        a group, declared beside others
 *                        │ DynamicConfig.values(group)
 *                        ▼
 *     { enabled: true, … }                                                      plain values, typed, for the part that needs them
 */
import { formatDurationMs, parseDurationMs } from './duration.ts';
import { shown } from './shown.ts';

export type Setting<Value> = {
  readonly key: string;
  readonly scope: SettingScope;
  readonly default: Value;
  readonly about: string;
  /** What a value is, and which holds where none is set, in words. */
  readonly expected: string;
  readonly defaultText: string;
  /** Fixed when the server starts; else a change holds at once. */
  readonly needsRestart: boolean;
  read(value: unknown): ReadValue<Value>;
};

/** `problem`: why it is no value for this key. `note`: what happens to it all the same. */
export type ReadValue<Value> = { readonly value: Value; readonly note?: string } | { readonly problem: string };

export type SettingGroup = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<Group extends SettingGroup> = {
  readonly [Name in keyof Group]: Group[Name] extends Setting<infer Value> ? Value : never;
};

/** Which constraints an entry of a key may have: see `steps` in dynamic-config.ts. */
export type SettingScope = 'global' | 'namespace' | 'taskQueue' | 'shard' | 'destination';

type About<Value> = Pick<Setting<Value>, 'default' | 'about'> & Partial<Pick<Setting<Value>, 'scope' | 'needsRestart'>>;

type Range<Value> = { readonly range: readonly [min: Value, max: Value] };

const usual = { scope: 'global', needsRestart: false } as const;

export function onOff(key: string, about: About<boolean>): Setting<boolean> {
  const expected = 'true or false';
  const read = (value: unknown): ReadValue<boolean> => {
    if (typeof value === 'boolean') return { value };
    if (value === 'true' || value === 'false') return { value: value === 'true' };
    return notAs(expected, value);
  };
  return { ...usual, key, ...about, expected, defaultText: String(about.default), read };
}

/** `default` may be undefined: unset, and what that means is said elsewhere. */
export function wholeNumber<Unset extends number | undefined>(
  key: string,
  { range: [min, max], ...about }: About<Unset> & Range<number>,
): Setting<Unset | number> {
  const expected = max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`;
  const fits = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
  const read = (value: unknown): ReadValue<number> => (fits(value) ? { value } : notAs(expected, value));
  return { ...usual, key, ...about, expected, defaultText: about.default === undefined ? 'unset' : String(about.default), read };
}

export function decimalNumber(key: string, { range: [min, max], ...about }: About<number> & Range<number>): Setting<number> {
  const expected = `a number from ${min} to ${max}`;
  const fits = (value: unknown): value is number => typeof value === 'number' && value >= min && value <= max;
  const read = (value: unknown): ReadValue<number> => (fits(value) ? { value } : notAs(expected, value));
  return { ...usual, key, ...about, expected, defaultText: String(about.default), read };
}

/** Empty by default. */
export function textSetting<Value>(key: string, about: About<Value>, readText: (text: string) => ReadValue<Value>): Setting<Value> {
  const expected = 'a text';
  const read = (value: unknown): ReadValue<Value> => (typeof value === 'string' ? readText(value) : notAs(expected, value));
  return { ...usual, key, ...about, expected, defaultText: '""', read };
}

/** A duration is written `30s` or `7d`; a bare number is seconds, whether in quotes or not. */
export function durationSetting(key: string, { range: [min, max], ...about }: About<number> & Range<string>): Setting<number> {
  const [minMs = 0, maxMs = 0] = [readDurationMs(min), readDurationMs(max)];
  const expected = `a duration from ${min} to ${max}, such as 90s`;
  const read = (value: unknown): ReadValue<number> => {
    const durationMs = readDurationMs(value);
    return durationMs === undefined || durationMs < minMs || durationMs > maxMs ? notAs(expected, value) : { value: durationMs };
  };
  return { ...usual, key, ...about, expected, defaultText: formatDurationMs(about.default), read };
}

const secondsAlone = /^\d+(?:\.\d+)?$/;
const days = /(\d+(?:\.\d+)?)d/g;

function readDurationMs(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  if (secondsAlone.test(text)) return parseDurationMs(`${text}s`);
  return parseDurationMs(text.replaceAll(days, (_, count: string) => `${Number(count) * 24}h`));
}

function notAs(expected: string, value: unknown): { readonly problem: string } {
  return { problem: `expected ${expected}, got ${shown(value)}` };
}
