/**
 * Writes docs/configuration.md from the server file's schema: `npm run gen:docs`. A test fails when the page is not what this makes.
 */
import { writeFileSync } from 'node:fs';
import { fileJsonSchema, type JsonSchema } from '../src/config/json-schema.ts';

const target = new URL('../docs/configuration.md', import.meta.url);

const intro = `# The server file

<!-- Made by scripts/configuration-page.ts from src/config/file-schema.ts: change it there, then run npm run gen:docs. -->

\`perdure server start --config FILE\` starts a server with the settings of a YAML file. The only setting that is required is where the journals are stored. On Kafka:

\`\`\`yaml
perdure:
  kafka:
    brokers: [kafka-1:9092, kafka-2:9092, kafka-3:9092]
\`\`\`

On Kafka with PostgreSQL for state, so that starts are short and topics are trimmed (the set-up for production):

\`\`\`yaml
perdure:
  kafka:
    brokers: [kafka-1:9092, kafka-2:9092, kafka-3:9092]
  postgres:
    host: db-1
    password: "\${POSTGRES_PASSWORD}"
\`\`\`

In a file, for one server without Kafka:

\`\`\`yaml
persistence:
  datastores:
    default:
      sql:
        pluginName: sqlite
        databaseName: perdure.db
\`\`\`

| command | |
|---|---|
| \`perdure config validate FILE\` | checks the file and prints every problem with its line; exits with 0 or 2 |
| \`perdure config validate FILE --connect\` | also connects to every broker, logs in, and connects to PostgreSQL; says which cluster and which state is there; exits with 1 if a start would be refused |
| \`perdure config print FILE\` | prints the settings in effect, with defaults, and with secrets masked |
| \`perdure config schema\` | prints a JSON Schema for editors |

Rules:

- \`\${NAME}\` and \`\${NAME:-default}\` in values are taken from the environment. A name that is not set and has no default is an error.
- File names are relative to the folder of the server file.
- Unknown keys are errors at the top level and under \`perdure\`, \`global.tls\` and \`global.authorization\`; elsewhere they are warnings, or errors
  with \`--strict-config\` and for \`config validate\`.
- The server listens only on localhost, unless \`services.frontend.rpc.bindOnIP\` names another address.
- Keys of Temporal's own server file that have no effect here are accepted, with a warning for each.
- Durations have the format of Go: \`500ms\`, \`30s\`, \`1h30m\`, \`720h\`.

All keys that have an effect:
`;

type Row = { readonly path: string; readonly schema: JsonSchema };

export function configurationPage(): string {
  const rows = [...rowsOf(fileJsonSchema(), '')];
  const used = rows.filter(({ schema }) => schema.deprecated !== true && schema.refused !== true);
  const refused = rows.filter(({ schema }) => schema.refused === true);
  const unused = rows.filter(({ schema }) => schema.deprecated === true);
  return [
    intro,
    ...sections(used),
    '## Refused for now\n',
    'To ignore these keys would be dangerous, so a file that sets one of them is refused.\n',
    table(
      ['key', 'why'],
      refused.map(({ path, schema }) => [code(path), prose(schema.description)]),
    ),
    '\n## Accepted without effect\n',
    'These are keys of Temporal’s server file; each causes a warning.\n',
    table(
      ['key', 'why'],
      unused.map(({ path, schema }) => [code(path), prose(schema.description)]),
    ),
    '',
  ].join('\n');
}

/** One section for each key of the top level, in the order of the schema. */
function sections(rows: readonly Row[]): readonly string[] {
  const groups = Map.groupBy(rows, ({ path }) => path.split('.')[0] ?? '');
  return [...groups].map(([name, [first, ...keys]]) => {
    const cells = keys.map(({ path, schema }) => [
      code(path.slice(name.length + 1)),
      typeOf(schema),
      defaultOf(schema),
      schema.description ?? '',
    ]);
    return `## ${name}\n\n${prose(first?.schema.description)}\n\n${table(['key', 'value', 'default', ''], cells)}`;
  });
}

function* rowsOf(schema: JsonSchema, path: string): Generator<Row> {
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    const childPath = path === '' ? key : `${path}.${key}`;
    yield { path: childPath, schema: child };
    yield* rowsOf(child, childPath);
  }
  for (const way of schema.anyOf ?? []) yield* rowsOf(way, path);
  if (typeof schema.additionalProperties === 'object') yield* rowsOf(schema.additionalProperties, `${path}.<name>`);
}

/** The canonical way comes first. */
function typeOf(schema: JsonSchema): string {
  const [canonical = schema] = schema.anyOf ?? [];
  if (canonical.enum !== undefined) return canonical.enum.filter((name) => name === String(name).toLowerCase()).join(', ');
  switch (canonical.type) {
    case 'integer':
      return `number, ${canonical.minimum} to ${canonical.maximum}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'list';
    case 'object':
      return 'keys';
    default:
      return 'text';
  }
}

function defaultOf(schema: JsonSchema): string {
  return schema.default === undefined ? (schema.defaultText ?? '') : code(String(schema.default));
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), `|${header.map(() => '---|').join('')}`, ...rows.map(line)].join('\n') + '\n';
}

/** Angle brackets are no HTML. */
function prose(text: string | undefined): string {
  return (text ?? '').replaceAll('<', '&lt;');
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

if (import.meta.main) writeFileSync(target, configurationPage());
