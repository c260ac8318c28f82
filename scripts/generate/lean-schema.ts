/**
 * The hot messages as modules of our generator: the public API's descriptors, seen through the list of hot-messages.ts.
 *
 *   public API                                     lean form
 *   RetryPolicy retry_policy                       the same, for it is hot
 *   Payloads input                                 optional bytes input, for it is passed on
 *   Duration, Timestamp                            milliseconds
 *   map<int32, TaskQueueStats> stats_by_…          repeated bytes: its entries
 */
import protobuf from 'protobufjs';
import {
  type FieldNumbers,
  leanModules,
  type LeanModules,
  passedOn,
  timesAlwaysWritten,
  timesWithPresence,
  withExactTimes,
} from './hot-messages.ts';
import {
  cardinalityOf,
  type Declared,
  flatName,
  scalarOf,
  schemaEnum,
  schemaField,
  type SchemaField,
  type SchemaMessage,
  type SchemaModule,
} from './schema.ts';

export type LeanSchema = {
  readonly modules: readonly SchemaModule[];
  /** What other .proto files may refer to, by the name of the public API. */
  readonly declared: ReadonlyMap<string, Declared>;
};

type Hot = { readonly type: protobuf.Type; readonly module: string; readonly numbers: FieldNumbers };

export function leanSchema(api: protobuf.Root, list: LeanModules = leanModules): LeanSchema {
  const hot = hotMessages(api, list);
  const enums = new Set(hot.flatMap(({ type }) => type.fieldsArray.map((field) => field.resolvedType)).filter(isEnum));
  hot.forEach(checkNumbers);

  const moduleOf = new Map<protobuf.ReflectionObject | null, string>(hot.map(({ type, module }) => [type, module]));
  const declare = (type: protobuf.Type | protobuf.Enum, module: string): [string, Declared] => [
    nameOf(type),
    { modulePath: modulePathOf(module), name: flatName(type), isEnum: isEnum(type) },
  ];
  const declared = new Map([
    ...hot.map(({ type, module }) => declare(type, module)),
    ...[...enums].map((type) => declare(type, moduleOf.get(type.parent) ?? 'enums')),
  ]);
  const unknown = passedOn.filter((name) => !declared.has(name));
  if (unknown.length > 0) throw new Error(`passed on, but not hot: ${unknown.join(', ')}`);

  const modules = [...Object.keys(list), 'enums'].map((module): SchemaModule => {
    const modulePath = modulePathOf(module);
    return {
      source: "the public API's descriptors and scripts/generate/hot-messages.ts",
      modulePath,
      enums: [...enums]
        .filter((type) => declared.get(nameOf(type))?.modulePath === modulePath)
        .map(schemaEnum)
        .toSorted(byName),
      messages: hot.filter((entry) => entry.module === module).map((entry) => leanMessage(entry, declared)),
    };
  });
  return { modules, declared };
}

/** Whether our codecs look into a field's message; all others are bytes. */
export function isLookedInto(type: protobuf.ReflectionObject, declared: ReadonlyMap<string, Declared>): boolean {
  return declared.has(nameOf(type)) && !passedOn.includes(nameOf(type));
}

function hotMessages(api: protobuf.Root, list: LeanModules): readonly Hot[] {
  return Object.entries(list).flatMap(([module, packages]) =>
    Object.entries(packages).flatMap(([packageName, messages]) =>
      Object.entries(messages).map(([name, numbers]) => ({ type: api.lookupType(`${packageName}.${name}`), module, numbers })),
    ),
  );
}

function checkNumbers({ type, numbers }: Hot): void {
  const listed = typeof numbers === 'string' ? parseNumbers(numbers) : parseNumbers(`${numbers.written} ${numbers.leftOut}`);
  const added = type.fieldsArray.filter((field) => !listed.has(field.id)).map((field) => `${field.id} ${field.name}`);
  if (added.length > 0) {
    throw new Error(`${nameOf(type)}: scripts/generate/hot-messages.ts says nothing of ${added.join(', ')}; decide about it there`);
  }
  const gone = [...listed].filter((number) => type.fieldsById[number] === undefined);
  if (gone.length > 0)
    throw new Error(`${nameOf(type)}: scripts/generate/hot-messages.ts lists ${gone.join(', ')}; there is no such field`);
}

function leanMessage({ type, numbers }: Hot, declared: ReadonlyMap<string, Declared>): SchemaMessage {
  const kept = typeof numbers === 'string' ? undefined : parseNumbers(numbers.written);
  const fields = type.fieldsArray.filter((field) => kept?.has(field.id) ?? true).map((field) => leanField(type, field, declared));
  return { name: flatName(type), fields: fields.toSorted((a, b) => a.number - b.number) };
}

/** `1-3 7` → 1, 2, 3, 7 */
function parseNumbers(text: string): ReadonlySet<number> {
  const parts = text.split(' ').filter((part) => part !== '');
  return new Set(
    parts.flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    }),
  );
}

function leanField(type: protobuf.Type, field: protobuf.Field, declared: ReadonlyMap<string, Declared>): SchemaField {
  const bytes = { kind: 'scalar', scalar: 'bytes' } as const;
  if (field instanceof protobuf.MapField && field.keyType !== 'string') return schemaField(type, field, bytes, 'repeated');
  const { resolvedType } = field;
  if (isEnum(resolvedType)) return schemaField(type, field, { kind: 'scalar', scalar: 'int32' });
  const scalar = scalarOf(field);
  if (scalar !== undefined) return schemaField(type, field, { kind: 'scalar', scalar });
  if (!(resolvedType instanceof protobuf.Type)) throw new Error(`${type.fullName}.${field.name}: unknown type ${field.type}`);
  const name = nameOf(resolvedType);
  // A list of times is a list of messages: few have one.
  if (!field.repeated && (name === 'google.protobuf.Timestamp' || name === 'google.protobuf.Duration')) {
    const kind = name === 'google.protobuf.Timestamp' ? 'timestamp' : 'duration';
    const exact = withExactTimes.includes(nameOf(type));
    const path = `${nameOf(type)}.${field.name}`;
    if (timesAlwaysWritten.includes(path)) return schemaField(type, field, { kind, exact }, 'always');
    const presence = timesWithPresence.includes(path) || (kind === 'timestamp' && exact);
    return schemaField(type, field, { kind, exact }, presence ? 'optional' : undefined);
  }
  const target = declared.get(name);
  if (target !== undefined && isLookedInto(resolvedType, declared)) {
    return schemaField(type, field, { kind: 'message', name: target.name, modulePath: target.modulePath });
  }
  const cardinality = cardinalityOf(field, bytes);
  return schemaField(type, field, bytes, cardinality === 'implicit' ? 'optional' : cardinality);
}

function isEnum(type: protobuf.ReflectionObject | null): type is protobuf.Enum {
  return type instanceof protobuf.Enum;
}

function nameOf(type: protobuf.ReflectionObject): string {
  return type.fullName.slice(1);
}

function modulePathOf(module: string): string {
  return `lean/${module}.ts`;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
