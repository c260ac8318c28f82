/** What is answered otherwise on purpose (docs/differences.md). */
import type { Played } from './play.ts';

type Refusal = { readonly code: number; readonly message: string };

export function answersOtherwise({ answer: ours }: Played, { answer: theirs }: Played): boolean {
  if (!isRefusal(ours) || !isRefusal(theirs)) return false;
  // A list behind another operator than IN reaches Temporal's database, which refuses it.
  if (ours.message.endsWith('ValTuple') && theirs.message.includes('row value misused')) return true;
  if (ours.code !== theirs.code) return false;
  return (
    // The value is shown in Go's words for a message.
    (/(not valid JSON|expected json\/plain|Infinity)$/.test(ours.message) && /: (value from <.*>|\[[\d ]*\])$/s.test(theirs.message)) ||
    // Of several attributes that are wrong, any is told first.
    (wrongAttribute(ours) !== undefined && wrongAttribute(theirs) !== undefined && wrongAttribute(ours) !== wrongAttribute(theirs)) ||
    // A text that ends in a blank does not reach the client.
    (theirs.message === '' && ours.message.endsWith(' ')) ||
    // Words of MySQL that are not reserved are read in lower case, and shown in back-quotes; quotes at both ends of a text are cut off.
    plain(ours.message) === plain(theirs.message)
  );
}

function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === 'object' && answer !== null && 'code' in answer && 'message' in answer;
}

function wrongAttribute({ message }: Refusal): string | undefined {
  return /^(?:BadSearchAttributes: )?(?:invalid value for search attribute|Namespace default has no mapping defined for search attribute) (\w+)/.exec(
    message,
  )?.[1];
}

function plain(message: string): string {
  return message.toLowerCase().replaceAll('`', '').replaceAll("''", "'");
}
