/** The number of the format of records, which stands beside each: whoever changes what a value means gives the next one. */
import { LogError } from '../ports/log.ts';

export const recordSchema = 1;

/** Throws LogError: another version means something else by it, or knows more. */
export function checkRecordSchema(found: number): void {
  if (found === recordSchema) return;
  const words = `the record has schema ${found}, written by another version; this one reads ${recordSchema}: start that version`;
  throw new LogError('corrupt', words);
}
