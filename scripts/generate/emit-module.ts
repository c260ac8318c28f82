/**
 * One module of generated TypeScript. For a message X:
 *
 *   export type X                                      every property always present: one shape, so property access stays monomorphic
 *   export function encodeX(message: X): Uint8Array
 *   export function decodeX(bytes: Uint8Array, limits?: WireLimits): X
 *   export function writeX(w: Writer, message: X)      the body alone, for messages that contain an X
 *   export function readX(r: Reader): X                likewise
 *   export function emptyX(): X                        what an empty body decodes to
 */
import { posix } from 'node:path';
import type { FieldValue, Scalar, SchemaEnum, SchemaField, SchemaMessage, SchemaModule } from './schema.ts';

export function emitModule(module: SchemaModule): string {
  const sections = [...module.enums.map(emitEnum), ...module.messages.map(emitMessage)];
  return [
    `// Generated from proto/${module.protoPath} by scripts/generate.ts. Do not edit.\n`,
    ...emitImports(module),
    '\n',
    sections.join('\n'),
  ].join('');
}

function emitImports(module: SchemaModule): string[] {
  const folder = posix.dirname(module.modulePath);
  const importPath = (target: string): string => {
    const path = posix.relative(folder, target);
    return path.startsWith('.') ? path : `./${path}`;
  };
  const imported = new Map<string, Set<string>>();
  for (const field of module.messages.flatMap((message) => message.fields)) {
    if (field.value.kind !== 'message' || field.value.modulePath === module.modulePath) continue;
    const names = imported.get(field.value.modulePath) ?? new Set();
    imported.set(field.value.modulePath, names.add(field.value.name));
  }
  const lines: string[] = [];
  if (module.messages.length > 0)
    lines.push(`import { encodeWith, Reader, type WireLimits, type Writer } from '${importPath('../runtime.ts')}';\n`);
  for (const [path, names] of [...imported].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const list = [...names].toSorted().flatMap((name) => [`read${name}`, `type ${name}`, `write${name}`]);
    lines.push(`import { ${list.join(', ')} } from '${importPath(path)}';\n`);
  }
  return lines;
}

function emitEnum(type: SchemaEnum): string {
  const lines = type.values.map(([name, number]) => `  ${name}: ${number},\n`);
  return `export const ${type.name} = {\n${lines.join('')}} as const;\n`;
}

function emitMessage(message: SchemaMessage): string {
  const { name, fields } = message;
  return [
    fields.length === 0
      ? `export type ${name} = { readonly [name: string]: never };\n`
      : `export type ${name} = {\n${fields.map(emitProperty).join('')}};\n`,
    `export function encode${name}(message: ${name}): Uint8Array {\n  return encodeWith(write${name}, message);\n}\n`,
    `export function decode${name}(bytes: Uint8Array, limits?: WireLimits): ${name} {\n  return read${name}(new Reader(bytes, limits));\n}\n`,
    emitWrite(message),
    emitRead(message),
    `export function empty${name}(): ${name} {\n  return { ${fields.map((field) => `${field.property}: ${initial(field)}`).join(', ')} };\n}\n`,
  ].join('');
}

function emitProperty(field: SchemaField): string {
  return `  readonly ${field.property}: ${fieldType(field)};\n`;
}

function fieldType(field: SchemaField): string {
  const type = valueType(field.value);
  switch (field.cardinality) {
    case 'implicit':
      return type;
    case 'optional':
      return `${type} | undefined`;
    case 'repeated':
      return `readonly ${type}[]`;
    case 'map':
      return `ReadonlyMap<string, ${type}>`;
  }
}

function valueType(value: FieldValue): string {
  switch (value.kind) {
    case 'message':
      return value.name;
    case 'duration':
    case 'timestamp':
      return 'number';
    case 'scalar':
      return scalarTypes[value.scalar] ?? 'number';
  }
}

const scalarTypes: { readonly [scalar in Scalar]?: string } = { string: 'string', bytes: 'Uint8Array', bool: 'boolean' };

function initial(field: SchemaField): string {
  if (field.cardinality === 'optional') return 'undefined';
  if (field.cardinality === 'repeated') return '[]';
  if (field.cardinality === 'map') return 'new Map()';
  return zero(field.value);
}

function zero(value: FieldValue): string {
  if (value.kind !== 'scalar') return '0';
  if (value.scalar === 'string') return "''";
  if (value.scalar === 'bytes') return 'new Uint8Array(0)';
  return value.scalar === 'bool' ? 'false' : '0';
}

function emitWrite(message: SchemaMessage): string {
  const unused = message.fields.length === 0;
  const lines = message.fields.map((field) => `  ${writeField(field)}\n`);
  return `export function write${message.name}(${unused ? '_w' : 'w'}: Writer, ${unused ? '_m' : 'm'}: ${message.name}): void {\n${lines.join('')}}\n`;
}

function writeField(field: SchemaField): string {
  const property = `m.${field.property}`;
  const tag = field.number * 8 + wireType(field.value);
  switch (field.cardinality) {
    case 'implicit':
      return `w.${method(field.value)}(${tag}, ${property});`;
    case 'optional':
      return `if (${property} !== undefined) ${writeAlways(field.value, tag, property)}`;
    case 'repeated':
      if (!packable(field.value)) return `for (const item of ${property}) ${writeAlways(field.value, tag, 'item')}`;
      return `if (${property}.length > 0) { const at = w.open(${field.number * 8 + 2}); for (const item of ${property}) ${writePacked(field.value)} w.close(at); }`;
    case 'map':
      return (
        `for (const [key, item] of ${property}) { const at = w.open(${field.number * 8 + 2}); w.stringAlways(10, key); ` +
        `${writeAlways(field.value, 16 + wireType(field.value), 'item')} w.close(at); }`
      );
  }
}

/** Writes the value even if it is a default; one statement. */
function writeAlways(value: FieldValue, tag: number, expression: string): string {
  if (value.kind !== 'message') return `w.${method(value)}Always(${tag}, ${expression});`;
  const at = `at${tag}`;
  return `{ const ${at} = w.open(${tag}); write${value.name}(w, ${expression}); w.close(${at}); }`;
}

function writePacked(value: FieldValue): string {
  const name = method(value);
  return name === 'bool' ? 'w.int32Raw(item ? 1 : 0);' : `w.${name}Raw(item);`;
}

function method(value: FieldValue): string {
  if (value.kind === 'duration') return 'durationMs';
  if (value.kind === 'timestamp') return 'timestampMs';
  if (value.kind === 'scalar') return value.scalar;
  throw new Error('a message has no method of its own');
}

function wireType(value: FieldValue): number {
  if (value.kind !== 'scalar') return 2;
  switch (value.scalar) {
    case 'string':
    case 'bytes':
      return 2;
    case 'fixed64':
    case 'sfixed64':
    case 'double':
      return 1;
    case 'fixed32':
    case 'sfixed32':
    case 'float':
      return 5;
    default:
      return 0;
  }
}

function packable(value: FieldValue): boolean {
  return value.kind === 'scalar' && value.scalar !== 'string' && value.scalar !== 'bytes';
}

function emitRead(message: SchemaMessage): string {
  const declarations = message.fields.map((field) => `  ${declareLocal(field)}\n`);
  const cases = message.fields.flatMap(readCases).map((line) => `      ${line}\n`);
  const properties = message.fields.map((field) => `${field.property}: f${field.number}`);
  const body =
    cases.length === 0
      ? '  while (r.pos < r.end) r.skip(r.tag());\n'
      : `  while (r.pos < r.end) {\n    const tag = r.tag();\n    switch (tag) {\n${cases.join('')}      default: r.skip(tag);\n    }\n  }\n`;
  return (
    `export function read${message.name}(r: Reader): ${message.name} {\n${declarations.join('')}${body}` +
    `  return { ${properties.join(', ')} };\n}\n`
  );
}

function declareLocal(field: SchemaField): string {
  const local = `f${field.number}`;
  const type = valueType(field.value);
  switch (field.cardinality) {
    case 'implicit':
      return `let ${local}: ${type} = ${zero(field.value)};`;
    case 'optional':
      return `let ${local}: ${type} | undefined;`;
    case 'repeated':
      return `const ${local}: ${type}[] = [];`;
    case 'map':
      return `const ${local} = new Map<string, ${type}>();`;
  }
}

function readCases(field: SchemaField): string[] {
  const local = `f${field.number}`;
  const tag = field.number * 8 + wireType(field.value);
  const packedTag = field.number * 8 + 2;
  switch (field.cardinality) {
    case 'implicit':
    case 'optional':
      return [`case ${tag}: ${readInto(field, (read) => `${local} = ${read};`)} break;`];
    case 'repeated': {
      const push = readInto(field, (read) => `${local}.push(${read});`);
      const one = `case ${tag}: r.room(${local}.length, '${field.path}'); ${push} break;`;
      if (!packable(field.value)) return [one];
      return [
        one,
        `case ${packedTag}: { const outer = r.enter(); while (r.pos < r.end) { r.room(${local}.length, '${field.path}'); ${push} } r.leave(outer); break; }`,
      ];
    }
    case 'map': {
      const valueTag = 16 + wireType(field.value);
      const fallback = field.value.kind === 'message' ? `read${field.value.name}(new Reader(new Uint8Array(0)))` : zero(field.value);
      return [
        `case ${packedTag}: {`,
        `  r.room(${local}.size, '${field.path}');`,
        `  const outer = r.enter(); let key = ''; let item: ${valueType(field.value)} | undefined;`,
        `  while (r.pos < r.end) {`,
        `    const part = r.tag();`,
        `    if (part === 10) key = r.string();`,
        `    else if (part === ${valueTag}) ${readInto(field, (read) => `item = ${read};`)}`,
        `    else r.skip(part);`,
        `  }`,
        `  r.leave(outer); ${local}.set(key, item ?? ${fallback}); break;`,
        `}`,
      ];
    }
  }
}

/** `use` turns the reading expression into a statement; a message is read between `enter` and `leave`. */
function readInto({ value, path }: SchemaField, use: (read: string) => string): string {
  if (value.kind !== 'message') return use(`r.${method(value)}(${mayBeRefused(value) ? `'${path}'` : ''})`);
  return `{ const outer = r.enter(); ${use(`read${value.name}(r)`)} r.leave(outer); }`;
}

/** These have values that the reader cannot give back; it says whose value it was. */
function mayBeRefused(value: FieldValue): boolean {
  return value.kind === 'duration' || value.kind === 'timestamp' || (value.kind === 'scalar' && value.scalar.endsWith('64'));
}
