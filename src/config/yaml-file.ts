import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { asError } from '../kernel/error-text.ts';
import type { Path, Problem } from './problem.ts';

export type YamlFile = {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
  readonly locate: Locate;
  /** Mistakes of syntax: with any of these there is no value. */
  readonly problems: readonly Problem[];
};

/** A key's own place, or its value's when that is a single one. */
export type Locate = (path: Path, what: 'key' | 'value') => { readonly line: number; readonly column: number };

export function parseYamlFile(source: string): YamlFile {
  const lines = new LineCounter();
  // Known tags (!!binary, !!set) would bring values that are neither text nor group nor list.
  const yaml = { version: '1.2', merge: true, resolveKnownTags: false, prettyErrors: false, logLevel: 'error' } as const;
  const document = parseDocument(source, { ...yaml, lineCounter: lines });
  const problems = syntaxProblems(source, document.errors).map(({ offset, message }): Problem => {
    const { line, col } = lines.linePos(offset);
    return { severity: 'error', line, column: col, path: '', message };
  });
  return { document, lines, locate: locator(document, lines), problems };
}

/** Says what is wrong in words of the file, where the mistake is: one mistake may be several errors of the parser, which names the line before. */
function syntaxProblems(source: string, errors: readonly YAMLError[]): readonly { readonly offset: number; readonly message: string }[] {
  const told = new Set<number>();
  return errors.flatMap((error) => {
    const { code, pos, message } = error;
    const isSaidByAnother = errors.some((other) => other !== error && other.code === 'MULTILINE_IMPLICIT_KEY' && other.pos[0] === pos[0]);
    if (isSaidByAnother || told.has(pos[0])) return [];
    told.add(pos[0]);
    const text = source.slice(...pos);
    switch (code) {
      case 'DUPLICATE_KEY': {
        const [key = ''] = /^[^:\n]*/.exec(source.slice(pos[0])) ?? [];
        return { offset: pos[0], message: `the key "${key.trim()}" is twice in this group; keep one of them` };
      }
      case 'MULTILINE_IMPLICIT_KEY': {
        const lineStart = text.lastIndexOf('\n') + 1;
        const indent = /^ */.exec(text.slice(lineStart))?.[0].length ?? 0;
        const what =
          lineStart === 0 ? 'this does not belong to the group before it' : 'this line is indented more than the lines of its group';
        return { offset: pos[0] + lineStart + indent, message: `${what}; or the line before it lacks a colon` };
      }
      case 'BLOCK_AS_IMPLICIT_KEY':
        return { offset: pos[0], message: 'a second colon in one line; put the value in quotes, or its keys on lines of their own' };
      case 'BAD_INDENT':
        if (!message.startsWith('All mapping items')) break;
        return { offset: pos[0], message: 'this line is indented in another way than the lines of its group' };
      case 'TAB_AS_INDENT':
        return { offset: pos[0], message: 'a tab at the beginning of a line; YAML takes spaces only' };
      case 'MISSING_CHAR':
        if (!message.startsWith('Implicit map keys')) break;
        return { offset: pos[0], message: 'a key without a value; write it as key: value' };
      default:
        break;
    }
    return { offset: pos[0], message };
  });
}

/** Aliases and merges are followed here; a merge of what is no map, or too many aliases, show only now. */
export function valueOf({ document }: YamlFile): unknown {
  try {
    return document.toJS();
  } catch (error) {
    return asError(error);
  }
}

export function pathText(path: Path): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('');
}

/** What was left out has no place: then the nearest group around it is shown. */
function locator(document: Document.Parsed, lines: LineCounter): Locate {
  // A file may have thousands of keys, and as many problems.
  const known = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  const pairOf = (map: YAMLMap, key: string): Pair | undefined => {
    const pairs = known.get(map) ?? pairsByKey(map);
    known.set(map, pairs);
    return pairs.get(key);
  };
  return (path, what) => {
    let at: unknown = document.contents;
    let keyOffset = nodeOffset(at) ?? 0;
    for (const part of path) {
      const pair = isMap(at) ? pairOf(at, String(part)) : undefined;
      const item = isSeq(at) ? at.items[Number(part)] : undefined;
      if (pair === undefined && item === undefined) break;
      keyOffset = nodeOffset(pair?.key ?? item) ?? keyOffset;
      at = pair === undefined ? item : pair.value;
    }
    const offset = what === 'value' && isScalar(at) ? (nodeOffset(at) ?? keyOffset) : keyOffset;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
}

function pairsByKey({ items }: YAMLMap): ReadonlyMap<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const item of items) {
    const key = isScalar(item.key) ? String(item.key.value) : undefined;
    if (key !== undefined && !pairs.has(key)) pairs.set(key, item);
  }
  return pairs;
}

function nodeOffset(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
