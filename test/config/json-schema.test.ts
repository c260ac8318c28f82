import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configurationPage } from '../../scripts/configuration-page.ts';
import { effectiveConfig } from '../../src/config/effective.ts';
import { fileJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { readConfigFile } from '../../src/config/read-file.ts';
import { settingsOf } from '../../src/config/settings.ts';
import { schemaProblems } from './json-schema-check.ts';

const repository = new URL('../../', import.meta.url);
const schema = fileJsonSchema();

function problems(source: string): readonly string[] {
  return schemaProblems(schema, parse(source));
}

/** Every server file that people see: the examples, and those in the pages. */
const shown = [
  ...readdirSync(new URL('examples/config/', repository)).map((name) => `examples/config/${name}`),
  'README.md',
  ...readdirSync(new URL('docs/', repository))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].flatMap((name) => {
  const text = readFileSync(new URL(name, repository), 'utf8');
  if (!name.endsWith('.md')) return [{ name, source: text }];
  return [...text.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, source = '']) => ({ name, source }));
});

describe('what we show to people is accepted by the schema that we publish, and by the server', () => {
  test.each(shown)('$name', ({ source }) => {
    expect(problems(source)).toEqual([]);
    const read = readConfigFile(source, { env: { KAFKA_PASSWORD: 'x', POSTGRES_PASSWORD: 'x' }, strict: true });
    expect(read.problems).toEqual([]);
  });
});

describe('the schema', () => {
  test('accepts what the server makes of a file', () => {
    const read = readConfigFile('perdure: {kafka: {brokers: [a:1], sasl: {mechanism: PLAIN, username: u, password: p}}}', {
      env: {},
      strict: true,
    });
    if (read.config === undefined) throw new Error('refused');
    const { settings } = settingsOf(read.config, { autoCreateTopics: true, locate: read.locate, folder: '/' });
    if (settings === undefined) throw new Error('refused');
    expect(schemaProblems(schema, effectiveConfig(settings.server, settings))).toEqual([]);
  });

  test.each([
    ['perdure: {kafka: {brokers: "a:1,b:2", tls: true, replicationFactor: "3"}}'],
    ['perdure: {kafka: {brokers: ["${A}"], tls: "${TLS:-false}", sasl: {mechanism: "${M}", username: u, password: "${P}"}}}'],
    ['services: {frontend: {rpc: {grpcPort: "${PORT:-7233}", bindOnLocalHost: "${LOCAL}"}}}'],
    ['log: {level: DEBUG, encoding: JSON}'],
  ])('accepts %s', (source) => {
    expect(problems(source)).toEqual([]);
  });

  test.each([
    ['perdur: {}', '.perdur: unknown'],
    ['perdure: {kafka: {broker: []}}', '.perdure.kafka.broker: unknown'],
    ['perdure: {kafka: {sasl: {mechanism: plain, username: u}}}', '.perdure.kafka.sasl.password: missing'],
    ['perdure: {kafka: {sasl: {mechanism: gssapi, username: u, password: p}}}', '.perdure.kafka.sasl.mechanism: none of'],
    ['services: {frontend: {rpc: {grpcPort: 70000}}}', '.services.frontend.rpc.grpcPort: out of range'],
    ['services: {frontend: {rpc: {grpcPort: seven}}}', '.services.frontend.rpc.grpcPort: string instead of integer'],
    ['persistence: {numHistoryShards: 1.5}', '.persistence.numHistoryShards: number instead of integer'],
    ['log: []', '.log: array instead of object'],
  ])('refuses %s, as the server does', (source, problem) => {
    expect(problems(source).join('\n')).toContain(problem);
    expect(readConfigFile(source, { env: {}, strict: true }).config).toBeUndefined();
  });

  test('says of every key what it is for', () => {
    const silent: string[] = [];
    const visit = (at: JsonSchema, path: string): void => {
      for (const [key, child] of Object.entries(at.properties ?? {})) {
        if (child.description === undefined) silent.push(`${path}${key}`);
        visit(child, `${path}${key}.`);
      }
      for (const way of at.anyOf ?? []) visit(way, path);
      if (typeof at.additionalProperties === 'object') visit(at.additionalProperties, `${path}<name>.`);
    };
    visit(schema, '');
    expect(silent).toEqual([]);
  });
});

test('docs/configuration.md is what scripts/configuration-page.ts makes of the schema (npm run gen:docs)', () => {
  expect(readFileSync(new URL('docs/configuration.md', repository), 'utf8')).toBe(configurationPage());
});
