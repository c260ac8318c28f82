/**
 * What a client writes to List, Count and Scan, as a condition on rows. The language is Temporal's, and so are the texts that say what is
 * wrong with a query. A query is a stranger's: its bytes, its conditions and its nesting are bounded.
 */
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { QueryAttributes } from '../query-attributes.ts';
import { checkQuery, type CheckedQuery } from './checker.ts';
import { InvalidQuery, invalid } from './invalid-query.ts';
import { parseSyntax } from './parser.ts';

/** Of a query. */
const queryBytesMax = 8 * 1024;

export type ParsedQuery =
  | ({ readonly kind: 'query' } & CheckedQuery)
  /** `message`: for INVALID_ARGUMENT. */
  | { readonly kind: 'invalid'; readonly message: string };

export function parseQuery(text: string, attributes: QueryAttributes): ParsedQuery {
  try {
    if (utf8Bytes(text) > queryBytesMax) throw invalid('unsupported', `more than ${queryBytesMax} bytes`);
    return { kind: 'query', ...checkQuery(parseSyntax(text.trim()), attributes) };
  } catch (error) {
    if (error instanceof InvalidQuery) return { kind: 'invalid', message: `invalid query: ${error.message}` };
    throw error;
  }
}
