/** As much of JSON Schema's rules as the server file's schema uses: what an editor would underline. */
import type { JsonSchema } from '../../src/config/json-schema.ts';

export function schemaProblems(schema: JsonSchema, value: unknown, path = ''): readonly string[] {
  if (schema.anyOf !== undefined) {
    const ways = schema.anyOf.map((way) => schemaProblems(way, value, path));
    return ways.some((problems) => problems.length === 0) ? [] : (ways[0] ?? []);
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`${path}: none of ${schema.enum.join(', ')}`];
  if (schema.type !== undefined && typeOf(value) !== schema.type && !(schema.type === 'number' && typeOf(value) === 'integer')) {
    return [`${path}: ${typeOf(value)} instead of ${schema.type}`];
  }
  if (typeof value === 'string') {
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) return [`${path}: does not match ${schema.pattern}`];
    if (value.length < (schema.minLength ?? 0)) return [`${path}: too short`];
  }
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity)) return [`${path}: out of range`];
  }
  const { items } = schema;
  if (Array.isArray(value)) {
    return items === undefined ? [] : value.flatMap((item, index) => schemaProblems(items, item, `${path}[${index}]`));
  }
  return typeof value === 'object' && value !== null ? memberProblems(schema, value, path) : [];
}

function memberProblems(schema: JsonSchema, value: object, path: string): readonly string[] {
  const missing = (schema.required ?? []).filter((key) => !(key in value)).map((key) => `${path}.${key}: missing`);
  const { additionalProperties = true } = schema;
  const wrong = Object.entries(value).flatMap(([key, member]) => {
    const known = schema.properties?.[key];
    if (known !== undefined) return schemaProblems(known, member, `${path}.${key}`);
    if (additionalProperties === false) return [`${path}.${key}: unknown`];
    return additionalProperties === true ? [] : schemaProblems(additionalProperties, member, `${path}.${key}`);
  });
  return [...missing, ...wrong];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
