/** Random workflows with random attributes, some of which end. */
import type { Prng } from '../../simulation/prng.ts';

/** By name of the attribute: the value as JSON. */
export type Attributes = Readonly<Record<string, string>>;

export type Life =
  | { readonly kind: 'open' }
  | { readonly kind: 'delayed'; readonly terminated: boolean }
  | { readonly kind: 'completed' | 'failed' | 'canceled' | 'terminated' | 'timedOut' }
  | { readonly kind: 'continuedAsNew'; readonly terminated: boolean }
  | { readonly kind: 'parent'; readonly childId: string; readonly childTerminated: boolean; readonly completed: boolean };

export type Workflow = {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly isSignalled: boolean;
  readonly attributes: Attributes;
  readonly memo: Attributes;
  /** By commands of the first task. */
  readonly upserted: Attributes;
  readonly upsertedMemo: Attributes;
  readonly life: Life;
};

/** `temporal.api.enums.v1.IndexedValueType`, without its prefix. */
export const attributeTypes = {
  AText: 'TEXT',
  AKeyword: 'KEYWORD',
  AnInt: 'INT',
  ADouble: 'DOUBLE',
  ABool: 'BOOL',
  ADate: 'DATETIME',
  AList: 'KEYWORD_LIST',
  'with space': 'KEYWORD',
} as const;

/**
 * Values of which Temporal's development server has no opinion of its own: there items of lists and the beginnings of keywords are compared in
 * any letter case, a text's `foo-bar` is a phrase, and a date of whole seconds equals none (docs/differences.md).
 */
export const values = {
  keywords: ['a', 'ab', 'abc', 'b', 'c', 'é', '注', '\uFF5E', '😀', "o'x", '12', 'a%', 'a_c', '%', 'a\\b', 'true', 'null'],
  texts: ['hello', 'Hello World', 'world, hello!', 'foo', 'BAR foo', 'Überraschung', '注文 済', '12 34', 'uberraschung'],
  askedTexts: ['hello', 'WORLD', 'foo', 'bar hello', 'überraschung', '済', '34', 'none'],
  ints: [0, 1, -1, 2, 3, 1000, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1],
  doubles: [0, 0.5, -1.5, 1, 2, 1e300, -1e300, 5e-324, 0.1],
  dates: [
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.001Z',
    '2023-11-14T22:13:20.001Z',
    '2023-11-14T22:13:20.999Z',
    '2096-10-02T07:06:40.001Z',
  ],
} as const;

const endings = ['completed', 'failed', 'canceled', 'terminated'] as const;

export function taskQueuesOf({ seed }: { readonly seed: number }): { readonly own: string; readonly ofChildren: string } {
  return { own: `set-${seed}`, ofChildren: `set-${seed}-children` };
}

export function drawnWorkflow(prng: Prng, suffix: string): Workflow {
  const life = drawnLife(prng, suffix);
  const hasTask = life.kind !== 'delayed' && life.kind !== 'terminated' && life.kind !== 'timedOut';
  return {
    workflowId: `${prng.pick(values.keywords)}-${suffix}`,
    workflowType: prng.pick(values.keywords),
    isSignalled: prng.chance(0.1) && life.kind !== 'delayed',
    attributes: drawnAttributes(prng, 0.5, ['ordinary']),
    memo: drawnMemo(prng),
    upserted: hasTask && prng.chance(0.4) ? drawnAttributes(prng, 0.4, ['ordinary', 'none']) : {},
    upsertedMemo: hasTask && prng.chance(0.2) ? drawnMemo(prng) : {},
    life,
  };
}

function drawnLife(prng: Prng, suffix: string): Life {
  if (prng.chance(0.02)) return { kind: 'timedOut' };
  if (prng.chance(0.3)) return { kind: 'open' };
  if (prng.chance(0.1)) return { kind: 'delayed', terminated: prng.chance(0.5) };
  if (prng.chance(0.15)) return { kind: 'continuedAsNew', terminated: prng.chance(0.5) };
  if (prng.chance(0.15)) {
    return {
      kind: 'parent',
      childId: `${prng.pick(values.keywords)}-child-${suffix}`,
      childTerminated: prng.chance(0.5),
      completed: prng.chance(0.5),
    };
  }
  return { kind: prng.pick(endings) };
}

/** `none`: with values that take an attribute away. */
function drawnAttributes(prng: Prng, probability: number, kinds: readonly ('ordinary' | 'none')[]): Attributes {
  const names = prng.subset(Object.keys(attributeTypes) as (keyof typeof attributeTypes)[], probability);
  const attributes: Record<string, string> = {};
  for (const name of names) {
    const value = prng.pick(kinds) === 'none' ? prng.pick(['null', '[]']) : drawnValue(prng, attributeTypes[name]);
    attributes[name] = value;
  }
  if (prng.chance(0.1)) attributes['TemporalScheduledById'] = JSON.stringify(prng.pick(values.keywords));
  if (prng.chance(0.05)) attributes['TemporalNamespaceDivision'] = JSON.stringify(prng.pick(['a', 'b']));
  if (prng.chance(0.01)) attributes['NoSuchAttribute'] = '1';
  return attributes;
}

function drawnValue(prng: Prng, type: (typeof attributeTypes)[keyof typeof attributeTypes]): string {
  if (prng.chance(0.01))
    return prng.pick(['"x"', '1.5', 'true', '{}', '["a", 1]', '', 'no json', '1.0', '[1]', '9223372036854775808', '1e400']);
  if (type === 'KEYWORD_LIST') {
    const items = [...new Set(Array.from({ length: prng.int(1, 4) }, () => prng.pick(values.keywords)))];
    return JSON.stringify(items);
  }
  const one = oneValue(prng, type);
  // Older clients send every value as a list.
  return prng.chance(0.2) ? `[${one}]` : one;
}

function oneValue(prng: Prng, type: 'TEXT' | 'KEYWORD' | 'INT' | 'DOUBLE' | 'BOOL' | 'DATETIME'): string {
  switch (type) {
    case 'TEXT':
      return JSON.stringify(prng.pick(values.texts));
    case 'KEYWORD':
      return JSON.stringify(prng.pick(values.keywords));
    case 'INT':
      return JSON.stringify(prng.pick(values.ints));
    case 'DOUBLE':
      return JSON.stringify(prng.pick(values.doubles));
    case 'BOOL':
      return JSON.stringify(prng.chance(0.5));
    case 'DATETIME':
      return JSON.stringify(prng.pick(values.dates));
  }
}

function drawnMemo(prng: Prng): Attributes {
  return Object.fromEntries(prng.subset(['note', 'other', 'third'], 0.3).map((key) => [key, JSON.stringify(prng.pick(values.keywords))]));
}
