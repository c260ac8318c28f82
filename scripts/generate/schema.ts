/**
 * Our .proto files as plain data, ready to be written as TypeScript. Types are resolved here: a field says what its codec has to do,
 * not what the .proto file called it.
 */
import protobuf from 'protobufjs';

export type ProtoFile = { readonly path: string; readonly source: string };

export type SchemaModule = {
  /** As its header names it. */
  readonly source: string;
  /** Relative to the generated folder. */
  readonly modulePath: string;
  readonly enums: readonly SchemaEnum[];
  readonly messages: readonly SchemaMessage[];
};

export type SchemaEnum = { readonly name: string; readonly values: readonly (readonly [name: string, number: number])[] };

export type SchemaMessage = { readonly name: string; readonly fields: readonly SchemaField[] };

export type SchemaField = {
  readonly number: number;
  /** As errors name it: `RetryPolicy.initial_interval`. */
  readonly path: string;
  readonly property: string;
  /** Always: as implicit, and written though it is 0. Required: a message that must be there, by `(perdure.required)`. */
  readonly cardinality: 'implicit' | 'always' | 'optional' | 'required' | 'repeated' | 'map';
  readonly value: FieldValue;
};

export type FieldValue =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  /** `exact`: with its fraction of a millisecond; any other counts a part of a millisecond as a whole one. */
  | { readonly kind: 'duration'; readonly exact: boolean }
  /** `exact`: nanoseconds, as a bigint; any other is the millisecond in which it is. */
  | { readonly kind: 'timestamp'; readonly exact: boolean }
  | { readonly kind: 'message'; readonly name: string; readonly modulePath: string };

/** Those that messages have. Any other is refused by its name, until reader.ts and writer.ts have methods for it. */
const scalars = ['string', 'bytes', 'bool', 'int32', 'int64', 'float', 'double'] as const;
export type Scalar = (typeof scalars)[number];

/** proto/perdure/options.proto, as seen from any package of ours. */
const requiredOption = '(required)';

/** Where the code of a message or an enumeration stands. */
export type Declared = { readonly modulePath: string; readonly name: string; readonly isEnum: boolean };

/** `publicTypes`: messages of the public API that the files may refer to. */
export function readSchema(files: readonly ProtoFile[], publicTypes: ReadonlyMap<string, Declared> = new Map()): readonly SchemaModule[] {
  const parsed = files.map((file) => {
    const root = new protobuf.Root();
    protobuf.parse(file.source, root, { keepCase: true });
    return { file, modulePath: modulePathOf(file.path), types: declaredTypes(root) };
  });

  const declared = new Map(publicTypes);
  for (const { file, modulePath, types } of parsed) {
    for (const type of types) {
      const fullName = type.fullName.slice(1);
      const clash = declared.get(fullName);
      if (clash) throw new Error(`${fullName} is declared in ${file.path} and again for ${clash.modulePath}`);
      declared.set(fullName, { modulePath, name: flatName(type), isEnum: type instanceof protobuf.Enum });
    }
  }

  const withTypes = parsed.filter(({ types }) => types.length > 0);
  return withTypes.map(({ file, modulePath, types }) => ({
    source: `proto/${file.path}`,
    modulePath,
    enums: types.filter((type) => type instanceof protobuf.Enum).map(schemaEnum),
    messages: types.filter((type) => type instanceof protobuf.Type).map((type) => schemaMessage(type, declared)),
  }));
}

/** perdure/journal/v1/history.proto -> journal/history.ts; a later version keeps its number: journal/v2/history.ts. */
function modulePathOf(protoPath: string): string {
  return protoPath
    .replace(/^perdure\//, '')
    .replace('/v1/', '/')
    .replace(/\.proto$/, '.ts');
}

function declaredTypes(parent: protobuf.NamespaceBase): (protobuf.Type | protobuf.Enum)[] {
  return parent.nestedArray.flatMap((nested) => {
    if (nested instanceof protobuf.Enum) return [nested];
    if (nested instanceof protobuf.Type) return [nested, ...declaredTypes(nested)];
    if (nested instanceof protobuf.Namespace) return declaredTypes(nested);
    return [];
  });
}

/** A message inside a message gets both names: Outer.Inner -> OuterInner. */
export function flatName(type: protobuf.ReflectionObject): string {
  return type.parent instanceof protobuf.Type ? flatName(type.parent) + type.name : type.name;
}

export function schemaEnum(type: protobuf.Enum): SchemaEnum {
  const prefix = `${screaming(type.name)}_`;
  const names = Object.keys(type.values);
  const stripped = names.every((name) => name.startsWith(prefix));
  return { name: flatName(type), values: names.map((name) => [stripped ? name.slice(prefix.length) : name, type.values[name] as number]) };
}

function schemaMessage(type: protobuf.Type, declared: ReadonlyMap<string, Declared>): SchemaMessage {
  const fields = type.fieldsArray.map((field) => schemaField(type, field, fieldValue(type, field, declared)));
  return { name: flatName(type), fields: fields.toSorted((a, b) => a.number - b.number) };
}

export function schemaField(
  type: protobuf.Type,
  field: protobuf.Field,
  value: FieldValue,
  cardinality: SchemaField['cardinality'] = cardinalityOf(field, value),
): SchemaField {
  const isTime = value.kind === 'duration' || value.kind === 'timestamp';
  if (isTime && (cardinality === 'repeated' || cardinality === 'map')) {
    throw new Error(`${type.fullName}.${field.name}: lists of durations and timestamps are not supported`);
  }
  return {
    number: field.id,
    path: `${flatName(type)}.${field.name}`,
    property: lowerCamel(field.name) + (isTime ? unitOf(value) : ''),
    cardinality,
    value,
  };
}

function unitOf(value: FieldValue): 'Ms' | 'Ns' {
  return value.kind === 'timestamp' && value.exact ? 'Ns' : 'Ms';
}

export function cardinalityOf(field: protobuf.Field, value: FieldValue): SchemaField['cardinality'] {
  if (field instanceof protobuf.MapField) {
    if (field.keyType !== 'string') throw new Error(`${field.fullName}: only maps with string keys are supported`);
    return 'map';
  }
  if (field.rule === 'repeated') return 'repeated';
  if (field.options?.[requiredOption] === true) {
    if (value.kind !== 'message') throw new Error(`${field.fullName}: only messages can be required`);
    return 'required';
  }
  const explicit = field.options?.['proto3_optional'] === true || field.partOf !== null;
  return explicit || value.kind === 'message' ? 'optional' : 'implicit';
}

function fieldValue(type: protobuf.Type, field: protobuf.Field, declared: ReadonlyMap<string, Declared>): FieldValue {
  const scalar = scalarOf(field);
  if (scalar) return { kind: 'scalar', scalar };
  if (field.type === 'google.protobuf.Duration') return { kind: 'duration', exact: false };
  if (field.type === 'google.protobuf.Timestamp') return { kind: 'timestamp', exact: false };
  const target = lookup(type, field.type, declared);
  if (!target) throw new Error(`${type.fullName}.${field.name}: unknown type ${field.type}`);
  return target.isEnum ? { kind: 'scalar', scalar: 'int32' } : { kind: 'message', name: target.name, modulePath: target.modulePath };
}

export function scalarOf(field: protobuf.Field): Scalar | undefined {
  return scalars.find((name) => name === field.type);
}

/** The scoping rule of protobuf: innermost scope first, then outwards. */
function lookup(from: protobuf.ReflectionObject, name: string, declared: ReadonlyMap<string, Declared>): Declared | undefined {
  if (name.startsWith('.')) return declared.get(name.slice(1));
  for (let scope: protobuf.ReflectionObject | null = from; scope; scope = scope.parent) {
    const found = declared.get(`${scope.fullName}.${name}`.replace(/^\.+/, ''));
    if (found) return found;
  }
  return undefined;
}

/** The rule of protobuf's JSON mapping, and of `@temporalio/proto`: an underscore goes and lifts the letter behind it. */
export function lowerCamel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function screaming(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}
