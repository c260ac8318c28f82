/**
 * Temporal's command line runs `temporal-admin`, `temporal-cluster` and `temporal-namespace` for commands that it does not know:
 *
 *     temporal admin dlq count --address X   ▶  temporal-admin --address X dlq count
 *     temporal help admin dlq                ▶  temporal-admin help dlq
 *     temporal __complete admin dlq ""       ▶  temporal-admin __complete dlq ""
 */
import { isCompletionWord } from './completion.ts';

/** The command line of `perdure` for such a call; `word` is `admin`, `cluster` or `namespace`. */
export function lineOfExtension(word: string, args: readonly string[]): readonly string[] {
  const [first = '', ...rest] = args;
  if (first === 'help') return ['help', word, ...rest];
  if (!isCompletionWord(first)) return [word, ...args];
  return rest[0] === 'help' ? [first, 'help', word, ...rest.slice(1)] : [first, word, ...rest];
}
