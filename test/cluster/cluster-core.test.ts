import fc from 'fast-check';
import { processorMs } from '../support/processor-time.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { ClusterCore } from '../../src/cluster/cluster-core.ts';
import { clusterLimits } from '../../src/cluster/command-table.ts';
import { canonicalState } from './canonical-state.ts';
import type { ClusterCommand, RegisterNamespace, UpdateNamespace } from '../../src/cluster/cluster-commands.ts';
import type { ClusterRecord, SearchAttributesAdded } from '../../src/cluster/cluster-records.ts';
import { systemSearchAttributes } from '../../src/cluster/search-attributes.ts';
import { clusterCodec } from '../../src/codec/cluster-codec.ts';

const day = 86_400_000;
let core: ClusterCore;
let journal: ClusterRecord[];
let now: number;

beforeEach(() => {
  core = new ClusterCore();
  journal = [];
  now = 1_000;
});

function ask(command: ClusterCommand): unknown {
  const handled = core.handle(command, ++now, 1);
  core.accept(handled);
  if (handled.kind === 'commit') journal.push(...(handled.before ?? []), handled.record);
  return handled.kind === 'wait' ? undefined : handled.reply;
}

function register(name: string, over: Partial<RegisterNamespace> = {}): RegisterNamespace {
  return { kind: 'registerNamespace', id: `id-${name}`, name, description: '', ownerEmail: '', data: new Map(), retentionMs: day, ...over };
}

const done = { kind: 'done' };
/** Of a deletion. */
const delays = { graceMs: 100, deleteDelayMs: 50 };
const rejected = (reason: string, message: string): unknown => ({ kind: 'rejected', rejection: { reason, message } });

describe('namespaces', () => {
  test('registered: found by name and id, answered with its record', () => {
    const handled = core.handle(register('orders', { description: 'd', data: new Map([['k', 'v']]) }), 1_000, 1);
    expect(handled).toMatchObject({ kind: 'commit', reply: done, record: { kind: 'namespaceRegistered', id: 'id-orders' } });
    expect(core.state.namespaceByName('orders')).toBeUndefined();
    if (handled.kind === 'commit') core.evolve(handled.record);
    expect(core.state.namespaceByName('orders')).toMatchObject({
      id: 'id-orders',
      state: 'registered',
      retentionMs: day,
      createdTimeMs: 1_000,
    });
    expect(core.state.namespaceById('id-orders')).toBe(core.state.namespaceByName('orders'));
  });

  test.each([
    ['no name', register(''), 'invalid-argument', 'Namespace not set on request.'],
    ['a name that no record could be named by', register('ü'.repeat(501)), 'invalid-argument', 'Namespace length exceeds limit.'],
    ['no retention', register('a', { retentionMs: 0 }), 'invalid-argument', 'A valid retention period is not set on request.'],
    [
      'too short a retention',
      register('a', { retentionMs: clusterLimits.retentionMsMin - 1 }),
      'invalid-argument',
      'A valid retention period is not set on request.',
    ],
    ['a name that is taken', register('orders', { id: 'other' }), 'namespace-exists', 'Namespace "orders" already exists'],
    ['an id that is taken', register('other', { id: 'id-orders' }), 'namespace-exists', 'Namespace "other" already exists'],
    ["the system's name", register('temporal-system'), 'namespace-exists', 'Namespace "temporal-system" already exists'],
  ])('refused: %s', (_what, command, reason, message) => {
    ask(register('orders'));
    const before = canonicalState(core.state);
    expect(ask(command)).toEqual(rejected(reason, message));
    expect(canonicalState(core.state)).toBe(before);
  });

  test('texts have a limit together, at first and by updates', () => {
    const core = new ClusterCore();
    const text = 'ü'.repeat(16_000);
    const refusal = {
      reason: 'invalid-argument',
      message: 'Namespace description, owner and data take 96004 bytes, more than the limit of 65536.',
    };
    const large = register('a', {
      description: text,
      ownerEmail: text,
      data: new Map([
        ['b1', text],
        ['b2', ''],
      ]),
    });
    expect(core.handle(large, 1, 1)).toMatchObject({ reply: { kind: 'rejected', rejection: refusal } });
    const fitting = register('a', { description: text, ownerEmail: '', data: new Map() });
    core.accept(core.handle(fitting, 1, 1));
    const growing = {
      kind: 'updateNamespace',
      id: fitting.id,
      description: undefined,
      ownerEmail: undefined,
      retentionMs: undefined,
      state: undefined,
    } as const;
    core.accept(core.handle({ ...growing, data: new Map([['k', text]]) }, 2, 2));
    expect(core.handle({ ...growing, data: new Map([['l', text]]) }, 3, 3)).toMatchObject({ reply: { kind: 'rejected' } });
  });

  test('a refusal waits for the commits that it rests on', () => {
    expect(core.handle(register(''), 1, 1).kind).toBe('answer');
    expect(core.handle({ kind: 'syncCluster' }, 1, 1)).toEqual({ kind: 'answer', reply: done, effects: [] });
  });

  test('listed by name', () => {
    for (const name of ['b', 'c', 'a']) ask(register(name));
    expect(core.state.namespaces().map((namespace) => namespace.name)).toEqual(['a', 'b', 'c']);
  });

  test('an update changes what it names and merges data', () => {
    ask(
      register('orders', {
        ownerEmail: 'me',
        data: new Map([
          ['k', 'v'],
          ['l', 'w'],
        ]),
      }),
    );
    const change = { description: 'new', ownerEmail: undefined, data: new Map([['k', 'x']]), retentionMs: undefined, state: undefined };
    expect(ask({ kind: 'updateNamespace', id: 'id-orders', ...change })).toEqual(done);
    expect(core.state.namespaceByName('orders')).toMatchObject({
      description: 'new',
      ownerEmail: 'me',
      data: new Map([
        ['k', 'x'],
        ['l', 'w'],
      ]),
      retentionMs: day,
      createdTimeMs: 1_001,
    });
    expect(ask({ kind: 'updateNamespace', id: 'nobody', ...change })).toEqual(
      rejected('namespace-not-found', 'Namespace nobody is not found.'),
    );
  });
});

describe('a deprecated namespace', () => {
  const unsaid = { description: undefined, ownerEmail: undefined, data: undefined, retentionMs: undefined };
  const update = (over: Partial<UpdateNamespace>): ClusterCommand => ({
    kind: 'updateNamespace',
    id: 'id-orders',
    ...unsaid,
    state: undefined,
    ...over,
  });
  beforeEach(() => ask(register('orders')));

  test('is so for ever; what else is said with it is said before, in a record of its own', () => {
    expect(ask(update({ state: 'deprecated', description: 'old' }))).toEqual(done);
    expect(journal.slice(1)).toMatchObject([{ kind: 'namespaceUpdated', description: 'old' }, { kind: 'namespaceDeprecated' }]);
    const records = journal.length;
    expect(ask(update({ state: 'deprecated' }))).toEqual(done);
    expect(ask(update({}))).toEqual(done);
    expect(journal).toHaveLength(records);
    expect(ask(update({ state: 'registered' }))).toEqual(rejected('invalid-argument', 'Invalid namespace state update.'));
    expect(core.state.namespaceByName('orders')).toMatchObject({ state: 'deprecated', description: 'old' });
    expect(ask({ kind: 'deleteNamespace', id: 'id-orders', ...delays })).toEqual(done);
    expect(core.state.namespaceById('id-orders')).toMatchObject({ state: 'deleted' });
  });
});

describe('a deleted namespace', () => {
  const id = '0123456789-abc';
  const deletion = { kind: 'deleteNamespace', id, ...delays } as const;
  beforeEach(() => ask(register('orders', { id, ownerEmail: 'me' })));

  test('has another name, and is kept; its own can be had again, by another id', () => {
    expect(ask(deletion)).toEqual(done);
    expect(journal.at(-1)).toMatchObject({ kind: 'namespaceDeleted', id, name: 'orders-deleted-01234' });
    expect(core.state.namespaceByName('orders')).toBeUndefined();
    const gone = { id, name: 'orders-deleted-01234', registeredName: 'orders', state: 'deleted', ownerEmail: 'me' };
    expect(core.state.namespaceByName('orders-deleted-01234')).toMatchObject(gone);
    expect(core.state.namespaceById(id)).toMatchObject(gone);
    expect(ask(register('orders'))).toEqual(done);
    expect(core.state.namespaceByName('orders')).toMatchObject({ id: 'id-orders', state: 'registered' });
    expect(core.state.namespaceById(id)).toMatchObject(gone);
    expect(core.state.namespaces().map(({ name }) => name)).toEqual(['orders', 'orders-deleted-01234']);
  });

  test('is named by more of its id when that name is taken', () => {
    ask(register('orders-deleted-01234'));
    ask(register('orders-deleted-012345'));
    ask(deletion);
    expect(core.state.namespaceById(id)?.name).toBe('orders-deleted-0123456');
    expect(core.state.namespaceByName('orders-deleted-01234')).toMatchObject({ state: 'registered' });
  });

  test('takes no name from others, whoever has taken all that its id offers', () => {
    const squatted = Array.from({ length: id.length - 4 }, (_, more) => `orders-deleted-${id.slice(0, 5 + more)}`);
    for (const name of [...squatted, `orders-deleted-${id}-2`]) expect(ask(register(name))).toEqual(done);
    expect(ask(deletion)).toEqual(done);
    expect(core.state.namespaceById(id)?.name).toBe(`orders-deleted-${id}-3`);
    ask({ kind: 'endNamespace', id });
    for (const name of squatted) expect(core.state.namespaceByName(name)).toMatchObject({ id: `id-${name}`, state: 'registered' });
  });

  test('changes no more, and its name and id are taken', () => {
    ask(deletion);
    const before = canonicalState(core.state);
    expect(ask(deletion)).toEqual(done);
    expect(ask(register('new', { id }))).toMatchObject({ kind: 'rejected' });
    expect(ask(register('orders-deleted-01234'))).toMatchObject({ kind: 'rejected', rejection: { reason: 'namespace-exists' } });
    const change = { description: 'x', ownerEmail: undefined, data: undefined, retentionMs: undefined, state: undefined };
    expect(ask({ kind: 'updateNamespace', id, ...change })).toMatchObject({ rejection: { reason: 'failed-precondition' } });
    expect(ask({ kind: 'addSearchAttributes', namespaceId: id, attributes: new Map([['A', 2]]) })).toMatchObject({ kind: 'rejected' });
    expect(canonicalState(core.state)).toBe(before);
    expect(ask({ kind: 'deleteNamespace', id: 'nobody', ...delays })).toEqual(
      rejected('namespace-not-found', 'Namespace nobody is not found.'),
    );
  });

  test('takes no room from those that are registered', () => {
    for (let nth = 1; nth < clusterLimits.namespacesMax; nth++)
      core.evolve({ ...register(`n${nth}`), kind: 'namespaceRegistered', timeMs: 1 });
    expect(ask(register('more'))).toEqual(rejected('failed-precondition', 'cluster has 10000 namespaces, its limit'));
    ask(deletion);
    expect(ask(register('more'))).toEqual(done);
  });

  test('makes nothing slower: others come and go while thousands wait to be gone', () => {
    const hundredMore = (batch: number): number =>
      processorMs(() => {
        for (let nth = 0; nth < 100; nth++) {
          expect(ask(register(`more${batch}-${nth}`))).toEqual(done);
          expect(ask({ ...deletion, id: `id-more${batch}-${nth}` })).toEqual(done);
        }
      });
    const aloneMs = Math.max(2, ...[1, 2, 3].map(hundredMore));
    for (let nth = 0; nth < 10_000; nth++) {
      core.evolve({ ...register(`n${nth}`), kind: 'namespaceRegistered', timeMs: 1 });
      core.evolve({ kind: 'namespaceDeleted', timeMs: 2, id: `id-n${nth}`, name: `n${nth}-deleted`, purgeAtMs: 2, deleteDelayMs: day });
    }
    // Counted anew for each, they took hundreds of times as long.
    expect(Math.min(...[4, 5, 6].map(hundredMore))).toBeLessThan(50 * aloneMs);
  });

  describe('in the end', () => {
    const end: ClusterCommand = { kind: 'endNamespace', id };

    test('is purged behind its grace time, and gone behind its delay; its name stays known', () => {
      ask({ kind: 'addSearchAttributes', namespaceId: id, attributes: new Map([['Color', 2]]) });
      ask({ kind: 'removeSearchAttributes', namespaceId: id, names: ['Color'] });
      ask(deletion);
      expect(core.state.deletions.get(id)).toEqual({ id, purgeAtMs: now + 100, deleteDelayMs: 50, purgedAtMs: undefined });
      ask(end);
      expect(journal.at(-1)).toEqual({ kind: 'namespacePurged', timeMs: now, id });
      const before = canonicalState(core.state);
      expect(ask(end)).toEqual(done);
      expect(canonicalState(core.state)).toBe(before);
      now += 50;
      ask(end);
      expect(journal.at(-1)).toEqual({ kind: 'namespaceRemoved', timeMs: now, id });
      expect([core.state.namespaceById(id), core.state.namespaceByName('orders-deleted-01234')]).toEqual([undefined, undefined]);
      expect([core.state.namespaces(), [...core.state.deletions], [...core.state.slotsToClear()]]).toEqual([[], [], []]);
      expect(core.state.registeredNameOf(id)).toBe('orders');
      expect(ask(end)).toEqual(done);
      expect(ask(deletion)).toEqual(rejected('namespace-not-found', `Namespace ${id} is not found.`));
    });

    test('goes at once without a delay, in one commit', () => {
      ask({ ...deletion, deleteDelayMs: 0 });
      ask(end);
      expect(journal.slice(-2)).toMatchObject([{ kind: 'namespacePurged' }, { kind: 'namespaceRemoved' }]);
    });

    test.each(['registered', 'unknown'])('is that of deleted ones alone: %s', (what) => {
      const records = journal.length;
      expect(ask({ kind: 'endNamespace', id: what === 'unknown' ? 'nobody' : id })).toEqual(done);
      expect(journal).toHaveLength(records);
      expect(core.state.namespaceById(id)).toMatchObject({ state: 'registered' });
    });

    test('makes room: there is no limit to deletions that are over, and the last names stay known', () => {
      for (let nth = 0; nth <= clusterLimits.deletedNamespacesMax; nth++) {
        const of = `n${nth}`;
        core.evolve({ ...register(of), kind: 'namespaceRegistered', timeMs: 1 });
        core.evolve({ kind: 'namespaceDeleted', timeMs: 2, id: `id-${of}`, name: `${of}-deleted`, purgeAtMs: 2, deleteDelayMs: 0 });
        core.evolve({ kind: 'namespaceRemoved', timeMs: 3, id: `id-${of}` });
      }
      expect(ask(deletion)).toEqual(done);
      expect([0, 1].map((nth) => core.state.registeredNameOf(`id-n${nth}`))).toEqual([undefined, 'n1']);
    });
  });

  test('is one of so many: more are not deleted', () => {
    const limit = clusterLimits.deletedNamespacesMax;
    for (let nth = 0; nth < limit; nth++) {
      core.evolve({ ...register(`n${nth}`), kind: 'namespaceRegistered', timeMs: 1 });
      core.evolve({ kind: 'namespaceDeleted', timeMs: 2, id: `id-n${nth}`, name: `n${nth}-deleted`, purgeAtMs: 9, deleteDelayMs: 0 });
    }
    expect(ask(deletion)).toEqual(rejected('failed-precondition', 'cluster has 100000 deleted namespaces, its limit'));
    expect(core.state.namespaceByName('orders')).toMatchObject({ state: 'registered' });
  });
});

describe('search attributes', () => {
  const add = (namespaceId: string, attributes: Record<string, number>): ClusterCommand => ({
    kind: 'addSearchAttributes',
    namespaceId,
    attributes: new Map(Object.entries(attributes)),
  });
  const remove = (namespaceId: string, ...names: string[]): ClusterCommand => ({ kind: 'removeSearchAttributes', namespaceId, names });

  beforeEach(() => {
    ask(register('a'));
    ask(register('b'));
  });

  test('of one namespace, beside the system ones', () => {
    expect(ask(add('id-a', { Color: 2 }))).toEqual(done);
    const a = core.state.namespaceByName('a');
    expect(a?.customSearchAttributes).toEqual(new Map([['Color', 2]]));
    expect(a?.searchAttributeTypes.get('Color')).toBe(2);
    expect(a?.searchAttributeTypes.get('WorkflowType')).toBe(2);
    expect(core.state.namespaceByName('b')?.customSearchAttributes.size).toBe(0);
    expect(core.state.namespaceById('id-a')?.searchAttributeTypes).toBe(a?.searchAttributeTypes);
  });

  test('are held once for all namespaces that have none of their own: there may be a hundred thousand', () => {
    const typesOf = (name: string): unknown => core.state.namespaceByName(name)?.searchAttributeTypes;
    ask(register('one'));
    ask(register('other'));
    const before = typesOf('one');
    expect(typesOf('other')).toBe(before);
    ask({ kind: 'addSearchAttributes', namespaceId: 'id-one', attributes: new Map([['Own', 2]]) });
    expect([typesOf('other'), typesOf('one')]).toEqual([before, new Map([['Own', 2], ...systemSearchAttributes])]);
    ask({ kind: 'addSearchAttributes', namespaceId: '', attributes: new Map([['Every', 2]]) });
    ask({ kind: 'removeSearchAttributes', namespaceId: 'id-one', names: ['Own'] });
    expect(typesOf('one')).toEqual(new Map([['Every', 2], ...systemSearchAttributes]));
    expect(typesOf('other')).toBe(typesOf('one'));
  });

  test('of the cluster: in every namespace, those to come included', () => {
    ask(add('', { Color: 2 }));
    ask(add('id-a', { Size: 3 }));
    ask(register('c'));
    expect(core.state.namespaceByName('a')?.customSearchAttributes).toEqual(
      new Map([
        ['Color', 2],
        ['Size', 3],
      ]),
    );
    expect(core.state.namespaceByName('c')?.customSearchAttributes).toEqual(new Map([['Color', 2]]));
    ask(remove('', 'Color'));
    expect(core.state.namespaceByName('a')?.customSearchAttributes).toEqual(new Map([['Size', 3]]));
  });

  test('names that exist are left as they are', () => {
    ask(add('id-a', { Color: 2 }));
    const records = journal.length;
    expect(ask(add('id-a', { Color: 3 }))).toEqual(done);
    expect(journal).toHaveLength(records);
    ask(add('id-a', { Color: 3, Size: 3 }));
    expect(journal.at(-1)).toMatchObject({ attributes: new Map([['Size', 3]]) });
    expect(core.state.namespaceByName('a')?.customSearchAttributes.get('Color')).toBe(2);
  });

  test.each([
    ...[...systemSearchAttributes.keys(), 'NamespaceId', '__temporal_x'].map(
      (name) =>
        [`reserved ${name}`, add('id-a', { [name]: 2 }), 'invalid-argument', `Search attribute ${name} is reserved by system.`] as const,
    ),
    ['unknown type', add('id-a', { Color: 8 }), 'invalid-argument', 'Unknown search attribute type: 8.'] as const,
    ['type not set', add('id-a', { Color: 0 }), 'invalid-argument', 'Unknown search attribute type: 0.'] as const,
    ['nothing', add('id-a', {}), 'invalid-argument', 'SearchAttributes are not set on request.'] as const,
    ['unknown namespace', add('id-x', { Color: 2 }), 'namespace-not-found', 'Namespace id-x is not found.'] as const,
    [
      'removal of a system attribute',
      remove('id-a', 'WorkflowId'),
      'invalid-argument',
      'Unable to remove non-custom search attributes: WorkflowId.',
    ] as const,
    ['removal of nothing', remove('id-a'), 'invalid-argument', 'SearchAttributes are not set on request.'] as const,
  ])('refused: %s', (_what, command, reason, message) => {
    const before = canonicalState(core.state);
    expect(ask(command)).toEqual(rejected(reason, message));
    expect(canonicalState(core.state)).toBe(before);
  });

  const many = (count: number, type: number, prefix = 'A'): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index + 1}`, type]));
  const slots = (name: string): Record<string, string> => Object.fromEntries(core.state.namespaceByName(name)?.searchAttributeSlots ?? []);

  test('each has a slot of its type: a namespace counts from the first, the cluster from the last', () => {
    ask(add('id-a', { Color: 2, Size: 3, Shape: 2, Colors: 7 }));
    expect(journal.at(-1)).toMatchObject({
      kind: 'searchAttributesAdded',
      slots: new Map([
        ['Color', 'Keyword01'],
        ['Size', 'Int01'],
        ['Shape', 'Keyword02'],
        ['Colors', 'KeywordList01'],
      ]),
    });
    ask(add('', { Region: 2, Zone: 2, When: 6 }));
    ask(add('id-b', { Text: 1, Weight: 4, Ok: 5, Region2: 2 }));
    const everywhere = { Region: 'Keyword20', Zone: 'Keyword19', When: 'Datetime06' };
    const own = { Color: 'Keyword01', Size: 'Int01', Shape: 'Keyword02', Colors: 'KeywordList01' };
    expect(slots('a')).toEqual({ ...everywhere, ...own });
    expect(slots('b')).toEqual({ ...everywhere, Text: 'Text01', Weight: 'Double01', Ok: 'Bool01', Region2: 'Keyword01' });
    ask(register('c'));
    expect(slots('c')).toEqual(everywhere);
  });

  test.each([
    [1, 6, 'Text'],
    [2, 20, 'Keyword'],
    [3, 6, 'Int'],
    [4, 6, 'Double'],
    [5, 6, 'Bool'],
    [6, 6, 'Datetime'],
    [7, 6, 'KeywordList'],
  ])('of type %i there are %i, and no more: all or none', (type, max, typeName) => {
    const refusal = rejected(
      'invalid-argument',
      `Unable to create search attributes: cannot have more than ${max} search attribute of type ${typeName}.`,
    );
    const records = journal.length;
    expect(ask(add('id-a', many(max + 1, type)))).toEqual(refusal);
    expect(journal).toHaveLength(records);
    expect(ask(add('id-a', many(max - 1, type)))).toEqual(done);
    expect(ask(add('', { Everywhere: type }))).toEqual(done);
    expect(new Set(Object.values(slots('a'))).size).toBe(max);
    expect(ask(add('id-a', { More: type, Other: (type % 7) + 1 }))).toEqual(refusal);
    expect(ask(add('', { More: type }))).toEqual(refusal);
    expect(ask(add('id-b', { More: type }))).toEqual(done);
    expect(ask(add('', { More: type === 2 ? 3 : 2 }))).toEqual(done);
  });

  const purge = (namespaceId: string, ...names: string[]): ClusterCommand => ({ kind: 'purgeSearchAttributes', namespaceId, slots: names });

  test("a removed attribute's slot is for nobody, itself included, before it is purged", () => {
    ask(add('id-a', many(6, 3)));
    ask(remove('id-a', 'A2', 'A3'));
    expect(slots('a')).toEqual({ A1: 'Int01', A4: 'Int04', A5: 'Int05', A6: 'Int06' });
    expect(core.state.slotsToClear()).toEqual(new Map([['id-a', ['Int02', 'Int03']]]));
    const full = 'Unable to create search attributes: cannot have more than 6 search attribute of type Int.';
    const why = 'what workflows have stored in them is being cleared, and then others can take their place. Try again later.';
    const wait = rejected('resource-exhausted', `${full} 2 of them were removed: ${why}`);
    for (const namespaceId of ['id-a', '']) for (const name of ['New', 'A2']) expect(ask(add(namespaceId, { [name]: 3 }))).toEqual(wait);
    expect(ask(add('id-b', { New: 3 }))).toEqual(done);
    expect(ask(purge('id-a', 'Int03', 'Int03', 'Int04', 'Int99'))).toEqual(done);
    expect(journal.at(-1)).toMatchObject({ kind: 'searchAttributesPurged', namespaceId: 'id-a', slots: ['Int03'] });
    expect(slots('a')).toEqual({ A1: 'Int01', A4: 'Int04', A5: 'Int05', A6: 'Int06' });
    expect(core.state.slotsToClear()).toEqual(new Map([['id-a', ['Int02']]]));
    expect(ask(add('id-a', { A2: 3 }))).toEqual(done);
    expect(slots('a')).toMatchObject({ A2: 'Int03' });
    const one = rejected('resource-exhausted', `${full} 1 of them was removed: ${why}`);
    expect(ask(add('id-a', { New: 3 }))).toEqual(one);
    ask(purge('id-a', 'Int02'));
    expect(ask(add('id-a', { New: 3 }))).toEqual(done);
    expect(slots('a')).toMatchObject({ A2: 'Int03', New: 'Int02' });
  });

  test('a purge is of the slots of one namespace, or of those that are for every one; what is in use stays', () => {
    ask(add('id-a', { Color: 2 }));
    ask(add('id-b', { Color: 2 }));
    ask(add('', { Zone: 2 }));
    ask(remove('id-a', 'Color'));
    ask(remove('id-b', 'Color'));
    ask(remove('', 'Zone'));
    expect(core.state.slotsToClear()).toEqual(
      new Map([
        ['id-a', ['Keyword01']],
        ['id-b', ['Keyword01']],
        ['', ['Keyword20']],
      ]),
    );
    const records = journal.length;
    for (const nothing of [purge('id-a', 'Keyword20'), purge('', 'Keyword01'), purge('id-c', 'Keyword01'), purge('id-a')]) {
      expect(ask(nothing)).toEqual(done);
    }
    expect(journal).toHaveLength(records);
    ask(purge('id-a', 'Keyword01'));
    ask(purge('', 'Keyword20'));
    expect(core.state.slotsToClear()).toEqual(new Map([['id-b', ['Keyword01']]]));
    ask(add('id-a', { Other: 2 }));
    ask(add('id-b', { Other: 2 }));
    expect([slots('a'), slots('b')]).toEqual([{ Other: 'Keyword01' }, { Other: 'Keyword02' }]);
    ask(purge('id-a', 'Keyword01'));
    expect(slots('a')).toEqual({ Other: 'Keyword01' });
  });

  const generations = (name: string): Record<string, number> =>
    Object.fromEntries(core.state.namespaceByName(name)?.searchAttributeGenerations ?? []);

  test('one that was there before is another one, which its record says; so it is for whoever had one of that name', () => {
    ask(add('id-a', { Color: 2, Size: 3 }));
    expect(journal.at(-1)).toMatchObject({ generations: new Map() });
    ask(remove('id-a', 'Color', 'Size'));
    ask(add('id-a', { Color: 1, Other: 1 }));
    expect(journal.at(-1)).toMatchObject({ generations: new Map([['Color', 1]]) });
    ask(add('id-b', { Color: 2 }));
    expect([generations('a'), generations('b')]).toEqual([{ Color: 1 }, {}]);
    ask(add('', { Color: 2, Size: 3, Fresh: 2 }));
    expect(journal.at(-1)).toMatchObject({
      generations: new Map([
        ['Color', 2],
        ['Size', 1],
      ]),
    });
    expect([generations('a'), generations('b')]).toEqual([{ Color: 1, Size: 1 }, { Size: 1 }]);
    ask(remove('id-a', 'Color'));
    expect(generations('a')).toEqual({ Color: 2, Size: 1 });
    ask(remove('', 'Size'));
    ask(add('id-b', { Size: 3 }));
    expect([generations('a'), generations('b')]).toEqual([{ Color: 2 }, { Size: 2 }]);
  });

  test('added and removed again and again, an attribute finds a slot as long as they are purged', () => {
    for (let round = 0; round < 100; round++) {
      expect(ask(add('id-a', { Color: 3 }))).toEqual(done);
      expect(ask(add('', { Everywhere: 3 }))).toEqual(done);
      expect(new Set(Object.values(slots('a'))).size).toBe(2);
      ask(remove('id-a', 'Color'));
      ask(remove('', 'Everywhere'));
      if (round % 3 === 2) for (const [namespaceId, names] of core.state.slotsToClear()) ask(purge(namespaceId, ...names));
    }
    expect(ask(add('id-a', { Color: 1 }))).toEqual(done);
    expect(slots('a')).toEqual({ Color: 'Text01' });
  });

  test('what hides an attribute of every namespace has a slot of its own, and gives way when it is removed', () => {
    ask(add('id-a', { Color: 3 }));
    ask(add('', { Color: 2 }));
    expect(slots('a')).toEqual({ Color: 'Int01' });
    expect(slots('b')).toEqual({ Color: 'Keyword20' });
    ask(remove('id-a', 'Color'));
    expect(slots('a')).toEqual({ Color: 'Keyword20' });
    expect(core.state.namespaceByName('a')?.searchAttributeTypes.get('Color')).toBe(2);
  });

  test('removed: unknown names are ignored', () => {
    ask(add('id-a', { Color: 2, Size: 3 }));
    expect(ask(remove('id-a', 'Color', 'Color', 'Unknown'))).toEqual(done);
    expect(journal.at(-1)).toMatchObject({ kind: 'searchAttributesRemoved', names: ['Color'] });
    expect(core.state.namespaceByName('a')?.customSearchAttributes).toEqual(new Map([['Size', 3]]));
    const records = journal.length;
    expect(ask(remove('id-a', 'Color'))).toEqual(done);
    expect(journal).toHaveLength(records);
  });
});

describe('the identity of the cluster', () => {
  const initialize = (clusterId: string, bytes = 32): ClusterCommand => ({
    kind: 'initializeCluster',
    clusterId,
    clusterName: 'active',
    tokenKey: new Uint8Array(bytes).fill(7),
    historyShards: 4,
  });

  test('the first is kept for ever', () => {
    expect(core.state.identity).toBeUndefined();
    expect(ask(initialize('first'))).toEqual(done);
    expect(ask(initialize('second'))).toEqual(done);
    expect(journal).toHaveLength(1);
    expect(core.state.identity).toEqual({
      clusterId: 'first',
      clusterName: 'active',
      tokenKey: new Uint8Array(32).fill(7),
      historyShards: 4,
    });
  });

  test('a short key is refused', () => {
    expect(ask(initialize('first', 31))).toMatchObject({ kind: 'rejected' });
    expect(core.state.identity).toBeUndefined();
  });
});

/** What holds values of a removed attribute is given to none that would show them. */
function expectUncleared(waiting: ReadonlyMap<string, readonly string[]>, { namespaceId, slots }: SearchAttributesAdded): void {
  const owners = namespaceId === '' ? [...waiting.keys()] : ['', namespaceId];
  const uncleared = owners.flatMap((owner) => waiting.get(owner) ?? []);
  expect([...slots.values()].filter((slot) => uncleared.includes(slot))).toEqual([]);
}

test('replaying the journal gives the live state, at every step', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const namespaceId = fc.constantFrom('', 'id-a', 'id-b', 'id-c');
  const attribute = fc.constantFrom('Color', 'Size', 'Weight', 'WorkflowId', 'A', 'B', 'C', 'D', 'E');
  const command: fc.Arbitrary<ClusterCommand> = fc.oneof(
    fc.record({ name, retentionMs: fc.constantFrom(0, day) }).map((over) => register(over.name, over)),
    fc.record({ namespaceId, attribute, type: fc.integer({ min: 0, max: 7 }) }).map((x): ClusterCommand => ({
      kind: 'addSearchAttributes',
      namespaceId: x.namespaceId,
      attributes: new Map([[x.attribute, x.type]]),
    })),
    fc
      .record({ namespaceId, attribute })
      .map((x): ClusterCommand => ({ kind: 'removeSearchAttributes', namespaceId: x.namespaceId, names: [x.attribute] })),
    fc
      .record({ namespaceId, slots: fc.subarray(['Keyword01', 'Keyword20', 'Int01', 'Int02', 'Int06', 'Bool01', 'Text01']) })
      .map((x): ClusterCommand => ({ kind: 'purgeSearchAttributes', ...x })),
    fc
      .record({ category: fc.constantFrom('transfer', 'timer'), sourceCluster: fc.constantFrom('active', 'other') })
      .map((x): ClusterCommand => ({ kind: 'addDeadLetterQueue', ...x })),
    fc
      .record({
        id: fc.constantFrom('id-a', 'id-b'),
        description: fc.option(name, { nil: undefined }),
        data: fc.constantFrom(undefined, new Map([['k', 'v']])),
        state: fc.constantFrom(undefined, 'registered' as const, 'deprecated' as const),
      })
      .map((x): ClusterCommand => ({ kind: 'updateNamespace', ...x, ownerEmail: undefined, retentionMs: undefined })),
    fc
      .record({ id: fc.constantFrom('id-a', 'id-b'), deleteDelayMs: fc.constantFrom(0, 3) })
      .map((x): ClusterCommand => ({ kind: 'deleteNamespace', graceMs: 1, ...x })),
    fc.constantFrom('id-a', 'id-b').map((id): ClusterCommand => ({ kind: 'endNamespace', id })),
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      core = new ClusterCore();
      const replayed = new ClusterCore();
      for (const [i, each] of commands.entries()) {
        const waiting = core.state.slotsToClear();
        const handled = core.handle(each, i, 1);
        if (handled.kind === 'commit') {
          core.accept(handled);
          for (const record of [...(handled.before ?? []), handled.record]) {
            const { value, schema } = clusterCodec.encode(record);
            replayed.evolve(clusterCodec.decode(value, schema));
          }
          if (handled.record.kind === 'searchAttributesAdded') expectUncleared(waiting, handled.record);
        }
        expect(canonicalState(replayed.state)).toBe(canonicalState(core.state));
        for (const namespace of core.state.namespaces()) {
          const { searchAttributeSlots, customSearchAttributes } = namespace;
          expect(new Set(searchAttributeSlots.values()).size).toBe(customSearchAttributes.size);
        }
      }
    }),
  );
});

describe('dead letter queues', () => {
  const add = (category: string, sourceCluster: string): unknown => ask({ kind: 'addDeadLetterQueue', category, sourceCluster });

  test('are numbered as they come, for ever', () => {
    expect(add('transfer', 'active')).toEqual(done);
    expect(add('replication', 'east.1')).toEqual(done);
    expect(add('transfer', 'active')).toEqual(done);
    expect(core.state.deadLetterQueues).toEqual([
      { number: 1, category: 'transfer', sourceCluster: 'active' },
      { number: 2, category: 'replication', sourceCluster: 'east.1' },
    ]);
  });

  test.each([
    ['', 'active', '"" is no category of tasks'],
    ['trans.fer', 'active', '"trans.fer" is no category of tasks'],
    ['transfer', '', 'no topic can be named after the cluster ""'],
    ['transfer', 'größe', 'no topic can be named after the cluster "größe"'],
  ])('whose topic could have no name is refused: "%s" of "%s"', (category, sourceCluster, message) => {
    expect(add(category, sourceCluster)).toEqual(rejected('invalid-argument', message));
  });

  test('are not without number', () => {
    for (let index = 0; index < clusterLimits.deadLetterQueuesMax; index++) add('replication', `c${index}`);
    expect(add('replication', 'more')).toMatchObject({ rejection: { reason: 'failed-precondition' } });
  });
});

test.each<[ClusterCommand, unknown]>([
  [register('twice'), rejected('namespace-exists', 'Namespace "twice" already exists')],
  [
    {
      kind: 'updateNamespace',
      id: 'id-a',
      description: 'd',
      ownerEmail: undefined,
      data: new Map([['k', 'v']]),
      retentionMs: day,
      state: 'deprecated',
    },
    done,
  ],
  [{ kind: 'deleteNamespace', id: 'id-a', ...delays }, done],
  [{ kind: 'endNamespace', id: 'id-a' }, done],
  [{ kind: 'addSearchAttributes', namespaceId: 'id-a', attributes: new Map([['Fresh', 2]]) }, done],
  [{ kind: 'removeSearchAttributes', namespaceId: 'id-a', names: ['Color'] }, done],
  [{ kind: 'purgeSearchAttributes', namespaceId: 'id-a', slots: ['Keyword01'] }, done],
  [{ kind: 'addDeadLetterQueue', category: 'transfer', sourceCluster: 'active' }, done],
  [{ kind: 'initializeCluster', clusterId: 'c', clusterName: 'n', tokenKey: new Uint8Array(32), historyShards: 4 }, done],
  [{ kind: 'syncCluster' }, done],
])('an ask that is repeated has happened once: $kind', (command, second) => {
  ask(register('a'));
  ask({ kind: 'addSearchAttributes', namespaceId: 'id-a', attributes: new Map([['Color', 2]]) });
  expect(ask(command)).toEqual(done);
  const state = canonicalState(core.state);
  expect(ask(command)).toEqual(second);
  expect(canonicalState(core.state)).toBe(state);
});
