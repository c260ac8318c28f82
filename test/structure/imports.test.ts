import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { historyFloors, projectionFloors, violation } from './directions.ts';
import { importsOf, parseImports, repository, sourceFiles, type Import } from './imports.ts';
import { arrowsBetweenRooms, ringsOf, wrongArrows } from './rooms.ts';

const files = sourceFiles('src');
const imports = files.flatMap(importsOf);

describe('import directions of src', () => {
  test('every import points inward', () => {
    expect(imports.map(violation).filter((message) => message !== undefined)).toEqual([]);
  });

  test('no module imports itself through others, not even as types: what two need of each other belongs to one, or to a third', () => {
    expect(cycles(imports.filter((found) => found.target.startsWith('src/')))).toEqual([]);
  });

  test('folders of src import each other in no ring, not even types', () => {
    expect(ringsOf(arrowsBetweenRooms('src/', imports))).toEqual([]);
  });

  test.each([
    ['src/history/', historyFloors],
    ['src/projections/', projectionFloors],
  ] as const)(
    'rooms of %s import those of the floors below, none that stands apart from it, and none each other in a ring',
    (part, floors) => {
      const arrows = arrowsBetweenRooms(part, imports);
      expect(
        wrongArrows(arrows, floors).flatMap(({ imports: found }) => found.map(({ file, line, target }) => `${file}:${line} → ${target}`)),
      ).toEqual([]);
      expect(ringsOf(arrows)).toEqual([]);
    },
  );

  test('the server is loaded lazily by the command line, so that help answers at once', () => {
    const eager = imports.filter(
      (found) => found.file.startsWith('src/cli/') && found.target === 'src/server.ts' && !found.lazy && !found.typeOnly,
    );
    expect(eager.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
  });

  test('kafkajs is loaded lazily, for the embedded server never needs it', () => {
    const eager = imports.filter(
      (found) =>
        found.target.startsWith('src/topics/kafka/') && !found.file.startsWith('src/topics/kafka/') && !found.lazy && !found.typeOnly,
    );
    expect(eager.map(({ file, line }) => `${file}:${line}`)).toEqual([]);
  });
});

describe('a start loads nothing of', () => {
  const eager = imports.filter(({ lazy, typeOnly }) => !lazy && !typeOnly);
  const loaded = new Set(['src/composition.ts']);
  for (const file of loaded) for (const found of eager) if (found.file === file) loaded.add(found.target);

  test.each([
    ['src/grpc/workflow-service/visibility.ts', 'list'],
    ['src/projections/visibility/filter/', 'list'],
    ['src/filter/', 'list'],
    ['src/wire/generated/lean/visibility_service.ts', 'list'],
    ['src/grpc/admin-service/admin-methods.ts', 'call of AdminService'],
    ['src/grpc/deadletter-service/deadletter-methods.ts', 'call of DeadLetterService'],
    ['src/wire/generated/api/deadletter/', 'call of DeadLetterService'],
    ['src/deadletters/filter/', 'call of DeadLetterService'],
    ['src/wire/generated/services.js', 'call of AdminService'],
    ['long', 'call of AdminService'],
  ])('%s: the first %s does', (late) => {
    expect(imports.some(({ target }) => target.startsWith(late))).toBe(true);
    expect(loaded).toContain('src/grpc/workflow-service/workflow-service.ts');
    expect([...loaded].filter((file) => file.startsWith(late))).toEqual([]);
  });
});

describe('the cores are deterministic', () => {
  const forbidden: readonly (readonly [RegExp, string])[] = [
    [/\bDate\.now\b|\bnew Date\(\s*\)/, 'the clock: take `now` from the command'],
    [/\bperformance\.now\b|\bprocess\.hrtime\b/, 'the clock: take `now` from the command'],
    [/\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/, 'randomness: ids and jitter come with the command'],
    [/\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, 'waiting: put a timer task into the record'],
    [/\bprocess\.(env|argv|platform|pid)\b/, 'the process: hand the setting in'],
    [/\basync\b|\bawait\b|\bnew Promise\b/, 'promises: decide and evolve are synchronous'],
  ];
  const cores = [
    'src/kernel/',
    'src/history/',
    'src/matching/',
    'src/schedules/',
    'src/cluster/',
    'src/deadletters/',
    'src/filter/',
    'src/projections/visibility/',
  ];

  test('no core uses what would differ at replay', () => {
    const findings = files
      .filter((file) => cores.some((folder) => file.startsWith(folder)))
      .flatMap((file) => {
        const code = withoutComments(textOf(file));
        return forbidden.filter(([pattern]) => pattern.test(code)).map(([, way]) => `${file} uses ${way}`);
      });
    expect(findings).toEqual([]);
  });
});

describe('what is simulated', () => {
  const simulated = ['src/actors/', 'src/projections/checkpoints/', 'src/projections/list/', 'src/ports/'];
  const real = /\bDate\.now\b|\bperformance\.now\b|\bMath\.random\b|\brandomUUID\b|\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/;

  test('time, timers and chance come through ports', () => {
    const looking = files
      .filter((file) => simulated.some((folder) => file.startsWith(folder)) && real.test(withoutComments(textOf(file))))
      .filter((file) => file !== 'src/ports/system-ports.ts');
    expect(looking).toEqual([]);
  });
});

describe('what src exports', () => {
  const users = [...files, ...sourceFiles('scripts')].map(wordsOf);
  const tests = sourceFiles('test').map(wordsOf);
  /** What only tests use, and why it stands in src. */
  const early = new Map([['mayReplace', 'the guard of projections (rule T11); the simulation proves it before there is one']]);

  /** Whole rooms that nobody enters but tests, and why. */
  const earlyRooms = new Map([
    ['src/peers/', 'asks as bytes; links between processes come later, until then the tests send asks through them'],
  ]);
  const isEarly = (file: string): boolean => [...earlyRooms.keys()].some((room) => file.startsWith(room));

  test('another file uses it; what only tests import is used in its own file at least', () => {
    const idle = users.flatMap(({ file, words, exports }) =>
      exports
        .filter((name) => {
          if (early.has(name) || users.some((other) => other.file !== file && other.words.has(name))) return false;
          return (!isEarly(file) && (words.get(name) ?? 0) < 2) || !tests.some((other) => other.words.has(name));
        })
        .map((name) => `${file} exports ${name}: delete it, or do not export it`),
    );
    expect(idle).toEqual([]);
  });

  test('nothing is called early that is used by now, or gone', () => {
    const names = [...early.keys()].filter((name) => users.filter(({ words }) => words.has(name)).length !== 1);
    expect(names).toEqual([]);
    const entered = [...earlyRooms.keys()].filter(
      (room) =>
        imports.some(({ file, target, typeOnly }) => !typeOnly && !file.startsWith(room) && target.startsWith(room)) ||
        !files.some((file) => file.startsWith(room)),
    );
    expect(entered).toEqual([]);
  });
});

type WordsOfFile = {
  readonly file: string;
  /** How often each name stands in the code, comments left out. */
  readonly words: ReadonlyMap<string, number>;
  /** Functions, classes and values; types cost nothing. */
  readonly exports: readonly string[];
};

function wordsOf(file: string): WordsOfFile {
  const code = withoutComments(textOf(file));
  const words = new Map<string, number>();
  for (const [word] of code.matchAll(/[\w$]+/g)) words.set(word, (words.get(word) ?? 0) + 1);
  const exported = [...code.matchAll(/^export (?:abstract )?(?:async )?(?:const|function\*?|class) ([\w$]+)/gm)];
  return { file, words, exports: exported.map((match) => match[1] ?? '') };
}

describe('house rules that no tool holds', () => {
  test('file names are kebab-case', () => {
    expect(files.filter((file) => !/^src\/(?:[a-z0-9-]+\/)*[a-z0-9]+(?:[-.][a-z0-9]+)*\.ts$/.test(file))).toEqual([]);
  });

  test('no file is longer than 500 lines, unless its header says why in a sentence that begins with "Long because"', () => {
    const tooLong = files.filter((file) => {
      const text = textOf(file);
      return text.split('\n').length > 501 && !isGenerated(text) && !/^\/\*\*(?:(?!\*\/)[\s\S])*\bLong because\b/.test(text);
    });
    expect(tooLong).toEqual([]);
  });

  test('nothing is exported by default', () => {
    expect(files.filter((file) => /^export default\b/m.test(textOf(file)))).toEqual([]);
  });

  test('the examples import what users have: @temporalio packages, Node and themselves', () => {
    const foreign = sourceFiles('examples')
      .flatMap(importsOf)
      .filter((found) => !/^(@temporalio\/|node:|\.\/)/.test(found.specifier));
    expect(foreign.map(({ file, line, specifier }) => `${file}:${line} imports ${specifier}`)).toEqual([]);
  });
});

/** The checker itself: a rule that finds nothing would pass every test above. */
describe('the checker', () => {
  const source = (file: string, text: string) => parseImports(file, text).map(violation);

  test.each([
    ['src/history/x.ts', `import { readFileSync } from 'node:fs';`, 'src/history/ must not, for the cores are pure'],
    ['src/history/x.ts', `import { match } from '../matching/match.ts';`, 'must not'],
    ['src/history/x.ts', `import type { Log } from '../ports/log.ts';`, 'must not'],
    ['src/kernel/x.ts', `import { assert } from '../history/assert.ts';`, 'leaf'],
    ['src/ports/x.ts', `import { KafkaLog } from '../topics/kafka/log.ts';`, 'declare what is needed'],
    ['src/projections/checkpoints/x.ts', `import type { Switchboard } from '../../actors/asks/switchboard.ts';`, 'let the shell do it'],
    ['src/projections/sqlite/x.ts', `import { arrayOf } from '../postgres/pack.ts';`, 'no other database'],
    ['src/actors/matching/x.ts', `import { HistoryMemory } from '../history/history-memory.ts';`, 'knows no other shell'],
    ['src/actors/ownership/x.ts', `import type { Ask } from '../asks/asks.ts';`, 'owning a journal is the same'],
    ['src/topics/x.ts', `import { Kafka } from 'kafkajs';`, 'kafkajs is used in src/topics/kafka/ only'],
    ['src/topics/embedded/x.ts', `import { decide } from '../../history/history-core.ts';`, 'must not'],
    ['src/grpc/services/x.ts', `import {\n  decide,\n} from '../../history/history-core.ts';`, 'as types it may'],
    ['src/grpc/x.ts', `const log = await import('../topics/embedded/log.ts');`, 'adapters do not know each other'],
    ['src/cli/x.ts', `export { decide } from '../history/history-core.ts';`, 'one function of the server'],
    ['src/brand-new/x.ts', `import { a } from './a.ts';`, 'is in no folder'],
  ])('refuses in %s: %s', (file, text, message) => {
    expect(source(file, text)).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ['src/grpc/services/x.ts', `import type { Command } from '../../history/commands.ts';`],
    ['src/grpc/services/x.ts', `import { type Command } from '../../history/commands.ts';`],
    ['src/topics/kafka/x.ts', `import { Kafka } from 'kafkajs';`],
    ['src/topics/kafka/x.ts', `import { LogError } from '../../ports/log.ts';`],
    ['src/topics/kafka/x.ts', ` * import { decide } from '../../history/history-core.ts';`],
    ['src/composition.ts', `import { decide } from './history/history-core.ts';`],
  ])('accepts in %s: %s', (file, text) => {
    expect(source(file, text).filter((message) => message !== undefined)).toEqual([]);
  });

  test('finds a ring of rooms, an arrow that runs up, and one between rooms that stand apart', () => {
    const edge = (file: string, target: string): Import => ({ file, target, line: 1, specifier: target, typeOnly: true, lazy: false });
    const arrows = arrowsBetweenRooms('p/', [edge('p/low/a.ts', 'p/top.ts'), edge('p/top.ts', 'p/low/b.ts'), edge('p/top.ts', 'p/x/c.ts')]);
    expect(ringsOf(arrows)).toEqual([['low/', 'top.ts']]);
    const floors = [{ rooms: ['low/', 'x/'] }, { rooms: [] }];
    expect(wrongArrows(arrows, floors).map(({ from, to }) => `${from} → ${to}`)).toEqual(['low/ → top.ts']);
    const lives = arrowsBetweenRooms('p/', [edge('p/low/a.ts', 'p/x/c.ts')]);
    expect(wrongArrows(lives, floors)).toEqual([]);
    expect(wrongArrows(lives, [{ rooms: ['low/', 'x/'], apart: true }])).toEqual(lives);
  });

  test('finds a cycle', () => {
    const edge = (file: string, target: string): Import => ({ file, target, line: 1, specifier: target, typeOnly: false, lazy: false });
    expect(cycles([edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('d', 'a')])).toEqual(['a → b → c → a']);
  });
});

/** One line for each module that is found again on the way down. */
function cycles(edges: readonly Import[]): string[] {
  const targets = Map.groupBy(edges, (edge) => edge.file);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const seen = path.indexOf(file);
    if (seen >= 0) found.push([...path.slice(seen), file].join(' → '));
    if (seen >= 0 || done.has(file)) return;
    for (const edge of targets.get(file) ?? []) visit(edge.target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return found;
}

function isGenerated(text: string): boolean {
  return text.startsWith('// Generated by scripts/');
}

function textOf(file: string): string {
  return readFileSync(join(repository, file), 'utf8');
}

function withoutComments(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\s\/\/ .*$/gm, '');
}
