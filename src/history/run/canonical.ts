/** A value as text that depends on nothing but its content: for comparing replayed state with live state, and tasks with one another. */
import { Pending } from './pending.ts';
import { LetterMarks } from './letter-marks.ts';
import { TimerQueue } from './timer-queue.ts';

export function canonicalText(value: unknown): string {
  const out: string[] = [];
  write(value, out);
  return out.join('');
}

function write(value: unknown, out: string[]): void {
  if (value instanceof Uint8Array) out.push('b:', hex(value));
  else if (Array.isArray(value)) {
    out.push('[');
    for (const item of value) {
      write(item, out);
      out.push(',');
    }
    out.push(']');
  } else if (typeof value === 'object' && value !== null) writeEntries(entriesOf(value), out);
  else out.push(JSON.stringify(value) ?? 'undefined');
}

type Entries = readonly (readonly [unknown, unknown])[];

function entriesOf(value: object): Entries {
  if (value instanceof Set) return [...value].map((item) => [item, true]);
  if (value instanceof TimerQueue) return [...value.values()].map((task) => [task.taskId, task]);
  if (value instanceof Map || value instanceof Pending || value instanceof LetterMarks) return [...value.entries()];
  return Object.entries(value);
}

/** Sorted by key; a property that is undefined counts as absent. */
function writeEntries(entries: Entries, out: string[]): void {
  const texts = entries.filter(([, value]) => value !== undefined).map(([key, value]) => `${String(key)}=${canonicalText(value)}`);
  out.push('{', texts.toSorted().join('\n'), '}');
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += hexOfByte[byte];
  return text;
}
