import { visit } from 'yaml';
import { z } from 'zod';
import { substitute, type Environment } from './environment.ts';
import { unusedNote } from './fields.ts';
import { fileSchema, type FileConfig } from './file-schema.ts';
import { inFileOrder, type Path, type Problem } from './problem.ts';
import { suggest } from './suggest.ts';
import { type Locate, parseYamlFile, pathText, valueOf, type YamlFile } from './yaml-file.ts';

export type ReadOptions = {
  readonly env: Environment;
  /** Unknown keys are errors everywhere, not only where their neglect is dangerous. */
  readonly strict: boolean;
};

export type ReadResult = {
  /** Undefined when there are errors among the problems. */
  readonly config: FileConfig | undefined;
  /** Beside errors of the schema: the file without what is wrong, so that all else can be checked in one go; undefined where nothing is left. */
  readonly rest?: { readonly config: FileConfig; readonly removed: readonly string[] } | undefined;
  readonly problems: readonly Problem[];
  /** Where a path of the file stands, for problems that are found later. */
  readonly locate: Locate;
};

/** Here an unknown key is always an error: a misspelt setting would leave a door open or data elsewhere. At the top it is a whole group. */
const alwaysStrict = ['global.tls', 'global.authorization', 'perdure'];
const isAlwaysStrict = (path: string): boolean => !path.includes('.') || alwaysStrict.some((prefix) => path.startsWith(`${prefix}.`));

/** Reads a server file: YAML, then the environment, then the schema. Every problem is found, not only the first. */
export function readConfigFile(source: string, options: ReadOptions): ReadResult {
  const file = parseYamlFile(source);
  const { locate } = file;
  const syntax = syntaxProblems(source, file);
  if (syntax.length > 0) return { config: undefined, problems: syntax, locate };

  const problems = substituteAll(file, options.env);
  const value = valueOf(file);
  if (value instanceof Error) return { config: undefined, problems: wholeFile(value.message), locate };
  if (value === null || value === undefined) {
    return {
      config: undefined,
      problems: wholeFile('the file says nothing; it must name a log to write to, such as perdure.kafka.brokers'),
      locate,
    };
  }
  const parsed = fileSchema.safeParse(value);
  const unset = new Set(problems.map(placeOf));
  for (const issue of parsed.error?.issues ?? []) {
    // An unset variable is reported already: that its empty text is no number, say, need not be said as well.
    problems.push(...issueProblems(issue, locate, options.strict).filter((problem) => !unset.has(placeOf(problem))));
  }
  problems.push(...unusedProblems(fileSchema, value, [], locate));

  const failed = problems.some((problem) => problem.severity === 'error');
  return {
    config: failed ? undefined : (parsed.data ?? fileSchema.parse(withoutUnknown(value, parsed.error))),
    problems: inFileOrder(problems),
    locate,
    rest: failed && parsed.error !== undefined ? restOf(value, parsed.error) : undefined,
  };
}

/** A group that lacks what was removed from it goes too, so this takes as many rounds as groups lie in one another. */
function restOf(value: unknown, error: z.ZodError): ReadResult['rest'] {
  const roundsMax = 8;
  const removed: string[] = [];
  let rest = value;
  let wrong: z.ZodError | undefined = error;
  for (let round = 0; wrong !== undefined && round < roundsMax; round++) {
    rest = withoutUnknown(rest, wrong);
    for (const issue of wrong.issues) {
      if (issue.code === 'unrecognized_keys') continue;
      const path = issue.path.map(String);
      const gone = path.findIndex((_, index) => memberAt(rest, path.slice(0, index + 1)) === undefined);
      const whole = gone === -1 ? path : path.slice(0, gone);
      const group = memberAt(rest, whole.slice(0, -1));
      const last = whole.at(-1);
      if (last === undefined || typeof group !== 'object' || group === null) return undefined;
      Reflect.deleteProperty(group, last);
      removed.push(whole.join('.'));
    }
    wrong = fileSchema.safeParse(rest).error;
  }
  return wrong === undefined ? { config: fileSchema.parse(rest), removed } : undefined;
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(member, value);
}

function syntaxProblems(source: string, { problems }: YamlFile): readonly Problem[] {
  if (!/^# enable-template/m.test(source.slice(0, 1024))) return problems;
  return wholeFile('Go templates are not supported; use ${NAME:-default}');
}

function wholeFile(message: string): readonly Problem[] {
  return [{ severity: 'error', line: 1, column: 1, path: '', message }];
}

/** Values only: keys and comments keep their dollar signs. */
function substituteAll({ document, lines }: YamlFile, env: Environment): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
      const { text, missing } = substitute(node.value, env);
      node.value = text;
      const { line, col } = lines.linePos(node.range?.[0] ?? 0);
      for (const name of missing) {
        const message = `environment variable ${name} is not set; set it or write \${${name}:-default}`;
        problems.push({ severity: 'error', line, column: col, path: '', message });
      }
    },
  });
  return problems;
}

function issueProblems(issue: z.core.$ZodIssue, locate: Locate, strict: boolean): Problem[] {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  if (issue.code !== 'unrecognized_keys') {
    return [{ severity: 'error', ...locate(path, 'value'), path: pathText(path), message: issue.message }];
  }
  const known = Object.keys(shapeAt(fileSchema, path) ?? {});
  return issue.keys.map((key) => {
    const keyPath = [...path, key];
    const whole = pathText(keyPath);
    const meant = suggest(key, known);
    const error = strict || isAlwaysStrict(whole);
    return {
      severity: error ? ('error' as const) : ('warning' as const),
      ...locate(keyPath, 'key'),
      path: whole,
      message: meant === undefined ? 'unknown key' : `unknown key; did you mean ${meant}?`,
    };
  });
}

/** One warning for each path that Temporal knows and this server does not use. */
function unusedProblems(schema: z.core.$ZodType, value: unknown, path: Path, locate: Locate): Problem[] {
  const note = unusedNote(schema);
  if (note !== undefined) return [{ severity: 'warning', ...locate(path, 'key'), path: pathText(path), message: note }];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const shape = shapeOf(schema);
  return Object.entries(value).flatMap(([key, child]) => {
    const childSchema = keyOf(shape, key) ?? recordValue(schema);
    return childSchema === undefined ? [] : unusedProblems(childSchema, child, [...path, key], locate);
  });
}

/** Unknown keys that were only warned about do not stop the rest from being read. */
function withoutUnknown(value: unknown, error: z.ZodError | undefined): unknown {
  const copy = structuredClone(value);
  for (const issue of error?.issues ?? []) {
    if (issue.code !== 'unrecognized_keys') continue;
    let at: unknown = copy;
    for (const part of issue.path) at = member(at, String(part));
    if (typeof at === 'object' && at !== null) for (const key of issue.keys) Reflect.deleteProperty(at, key);
  }
  return copy;
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

function placeOf(problem: Problem): string {
  return `${problem.line}:${problem.column}`;
}

function shapeAt(schema: z.core.$ZodType, path: Path): z.core.$ZodShape | undefined {
  let at: z.core.$ZodType | undefined = schema;
  for (const part of path) at = at === undefined ? undefined : (keyOf(shapeOf(at), String(part)) ?? recordValue(at));
  return at === undefined ? undefined : shapeOf(at);
}

function shapeOf(schema: z.core.$ZodType): z.core.$ZodShape | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

/** The type of one of the shape's own keys: a file may say `constructor`, which every object has. */
function keyOf(shape: z.core.$ZodShape | undefined, key: string): z.core.$ZodType | undefined {
  return shape !== undefined && Object.hasOwn(shape, key) ? shape[key] : undefined;
}

function recordValue(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodRecord ? inner._zod.def.valueType : undefined;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional) return unwrap(schema._zod.def.innerType);
  if (schema instanceof z.ZodPipe) return unwrap(schema._zod.def.out);
  return schema;
}
