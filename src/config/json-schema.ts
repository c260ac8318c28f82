/**
 * The server file's JSON Schema, for editors and for the reference page. It describes the file as people write it, before `${NAME}` is
 * replaced from the environment: a number, a switch or one of some names may stand there as a placeholder too.
 */
import { z } from 'zod';
import { fileSchema } from './file-schema.ts';

export type JsonSchema = {
  readonly description?: string;
  readonly default?: string | number | boolean;
  /** Ours: the default in words. */
  readonly defaultText?: string;
  /** Read and not used. */
  readonly deprecated?: boolean;
  /** Ours: refused unless it is empty. */
  readonly refused?: boolean;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
};

/** `${NAME}` or `${NAME:-default}`, with anything around it. */
const placeholder = { type: 'string', pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}' } as const;
const numberAsText = { type: 'string', pattern: '^[0-9]{1,15}$' } as const;

export function fileJsonSchema(): JsonSchema & { readonly title: string } {
  return {
    title: 'Perdure server file',
    ...(z.toJSONSchema(fileSchema, { io: 'output', unrepresentable: 'any', override }) as JsonSchema),
  };
}

type Written = z.core.JSONSchema.BaseSchema & { orText?: boolean; orFlag?: boolean };

/** Turns what the loader ends up with into what it accepts. */
function override({ jsonSchema }: { readonly jsonSchema: Written }): void {
  const { orText, orFlag } = jsonSchema;
  delete jsonSchema.orText;
  delete jsonSchema.orFlag;
  if (orText === true) accept(jsonSchema, [{ type: 'string' }]);
  else if (orFlag === true) accept(jsonSchema, [{ type: 'boolean' }, placeholder]);
  else if (jsonSchema.type === 'integer') accept(jsonSchema, [numberAsText, placeholder]);
  else if (jsonSchema.type === 'boolean') accept(jsonSchema, [{ enum: ['true', 'false'] }, placeholder]);
  else if (jsonSchema.type === 'string' && jsonSchema.pattern !== undefined) accept(jsonSchema, [placeholder]);
  else if (jsonSchema.enum !== undefined && !jsonSchema.enum.includes('true')) {
    const names = jsonSchema.enum.map(String);
    delete jsonSchema.type;
    jsonSchema.enum = [...new Set([...names, ...names.map((name) => name.toUpperCase())])];
    accept(jsonSchema, [placeholder]);
  }
}

const annotations = new Set(['description', 'default', 'defaultText', 'deprecated', 'refused']);

/** What the schema says of a value moves into the first of several ways; what it says to people stays. */
function accept(schema: Written, others: readonly z.core.JSONSchema.BaseSchema[]): void {
  const canonical: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (annotations.has(name)) continue;
    canonical[name] = value;
    Reflect.deleteProperty(schema, name);
  }
  schema.anyOf = [canonical, ...others];
}
