import { isIP } from 'node:net';
import { z } from 'zod';
import { parseDurationMs } from './duration.ts';
import { isHostPort } from './host-port.ts';
import { shown } from './shown.ts';

/**
 * Building blocks of the server file's schema. Each says in its own words what it expects. A value from the environment is always
 * text, so numbers and switches also accept the text that reads as one.
 */

type Issue = { readonly input?: unknown };

const expected = (what: string) => (issue: Issue) => `expected ${what}, got ${shown(issue.input)}`;

type About = {
  readonly description: string;
  /** What holds when the key is left out, where that is one value. */
  readonly default?: string | number | boolean;
  /** What holds then, in words. */
  readonly defaultText?: string;
};

export function key<Type extends z.ZodType>(
  schema: Type,
  description: string,
  about: Omit<About, 'description'> = {},
): z.ZodOptional<Type> {
  return schema.meta({ description, ...about }).optional();
}

export function requiredKey<Type extends z.ZodType>(schema: Type, description: string): Type {
  return schema.meta({ description });
}

export const text = (what = 'text') => z.string({ error: expected(what) }).min(1, { error: expected(what) });

/** A text that stands in no message: what is wrong with a password is not shown to whoever reads the log. */
export const secret = () => z.string({ error: withoutValue('text in quotes') }).min(1, { error: expected('text') });

const withoutValue = (what: string) => (issue: Issue) =>
  issue.input === undefined || issue.input === null ? expected('text')(issue) : `expected ${what} (what it is instead is not shown)`;

export const matching = (pattern: RegExp, what: string) => z.string({ error: expected(what) }).regex(pattern, { error: expected(what) });

export const whole = (min: number, max: number, what = `a whole number from ${min} to ${max}`) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z
      .int({ error: expected(what) })
      .min(min, { error: expected(what) })
      .max(max, { error: expected(what) }),
  );

export const bytesBetween = (min: number, max: number) => whole(min, max, `a whole number of bytes from ${min} to ${max}`);

export const port = () => whole(0, 65535, 'a port from 0 to 65535');

export const flag = () =>
  z.preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean({ error: expected('true or false') }));

export const duration = () =>
  z
    .string({ error: expected('a duration such as 720h') })
    .refine((value) => parseDurationMs(value) !== undefined, { error: expected('a duration such as 720h') });

/** Durations that a timer waits: Node's timers reach 24 days, and to wait 0 ms makes no sense. */
export const durationBetween = (min: string, max: string) =>
  duration().refine((value) => isBetween(value, min, max), { error: expected(`a duration from ${min} to ${max}`) });

function isBetween(value: string, min: string, max: string): boolean {
  const [valueMs, minMs, maxMs] = [value, min, max].map(parseDurationMs);
  // A text that is no duration is reported by `duration` already.
  return valueMs === undefined || (valueMs >= (minMs ?? 0) && valueMs <= (maxMs ?? 0));
}

export const ip = () =>
  z.string({ error: expected('an IP address') }).refine((value) => isIP(value) !== 0, { error: expected('an IP address') });

/** One of these names, in upper or lower case. */
export const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names, what = names.join(' or ')) =>
  z.preprocess((value) => (typeof value === 'string' ? value.toLowerCase() : value), z.enum(names, { error: expected(what) }));

export const hostPort = () => {
  const what = 'host:port, IPv6 in brackets';
  return z.string({ error: expected(what) }).refine(isHostPort, { error: expected(what) });
};

/** A group that holds a secret: where something else stands in its place, that may be the secret. */
export const secretGroup = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? withoutValue('a group of keys')(issue) : undefined) });

export const group = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? expected('a group of keys')(issue) : undefined) });

/** The key of a group. */
export const groupKey = <Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) => key(group(shape), description);

/** Keys of one type. */
export function each<const Name extends string, Type extends z.ZodType>(names: readonly Name[], type: Type): Readonly<Record<Name, Type>> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Type>;
}

export const list = <Element extends z.ZodType>(element: Element, what: string) => z.array(element, { error: expected(what) });

export const risingNumbers = (what: string) =>
  z
    .array(z.number({ error: expected(what) }).positive({ error: expected(what) }), { error: expected(what) })
    .min(1, { error: expected(what) })
    .max(100, { error: expected(what) })
    .refine((numbers) => numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0)), { error: expected(what) });

/** A label of Prometheus. */
export const tagName = () => matching(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'a tag name of letters, digits and underscores');

/** A list, or its elements in one text with commas, which an environment variable can hold. */
export const listOrText = <Element extends z.ZodType>(element: Element, what: string) =>
  z.preprocess((value) => (typeof value === 'string' ? splitAtCommas(value) : value), list(element, what)).meta({ orText: true });

function splitAtCommas(value: string): readonly string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** A group, or `true` and `false` for it with and without its defaults. */
export const groupOrFlag = <Group extends z.ZodType>(of: Group) =>
  z
    .preprocess(
      (value) => (value === true || value === 'true' ? {} : value === false || value === 'false' ? { enabled: false } : value),
      of,
    )
    .meta({ orFlag: true });

type UnusedNote = { readonly unused: string };
const unusedKeys = z.registry<UnusedNote>();

/** A key that Temporal knows and this server does not use: read, and warned about. */
export function unused(why = 'read, but not used by this server') {
  const schema = z.unknown().meta({ description: why, deprecated: true }).optional();
  return schema.register(unusedKeys, { unused: why });
}

export function unusedNote(schema: z.core.$ZodType): string | undefined {
  return unusedKeys.get(schema)?.unused;
}

/** A key whose neglect would be dangerous: refused unless it is empty, or `always`, where emptiness means something. */
export function refused(why: string, always = false) {
  return z
    .custom<undefined>((value) => (always ? value === undefined || value === null : isEmpty(value)), { error: why })
    .meta({ description: why, refused: true })
    .optional();
}

/** `around`: the groups that hold the value. One that holds itself, by an alias, is not empty. */
function isEmpty(value: unknown, around: readonly unknown[] = []): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object' || around.includes(value)) return false;
  return Object.values(value).every((child) => isEmpty(child, [...around, value]));
}
