/**
 * What failures of one cause have in common, as 16 hex digits: type of the error, the first function of ours that it passed, type of the task,
 * and the message without what differs from task to task. Stable: letters of years are grouped by it.
 *
 *     row 4711 of order-17 is refused by 5f8b9c1e-…      ┐
 *     row 12 of order-9 is refused by 0a1b2c3d-…         ┴──▶ row # of # is refused by #
 */
import { fingerprint32 } from '../kernel/fingerprint.ts';
import type { TaskError } from './task-failure.ts';

/** `ids`: of the task (workflow, run, namespace …), whatever they look like; empty ones count for nothing. */
export function failureFingerprint(error: TaskError, taskType: string, ids: readonly string[]): string {
  const parts = [error.errorType, ownFunction(error.errorStack), taskType, withoutParticulars(error.errorMessage, ids)];
  const text = JSON.stringify(parts);
  // Two hashes that begin otherwise: together 64 bits.
  return hex(fingerprint32(text)) + hex(fingerprint32(`letter ${text}`));
}

/** Numbers, UUIDs and most ids have a digit in them; ids without one are those of the task. */
function withoutParticulars(message: string, ids: readonly string[]): string {
  const known = ids.filter((id) => id !== '').sort((a, b) => b.length - a.length);
  let text = message;
  for (const id of known) text = replaceWhole(text, id);
  return text.replace(word, (found) => (digit.test(found) ? '#' : found)).replace(/\s+/g, ' ');
}

const word = /[\p{L}\p{N}_-]+/gu;
const digit = /\p{N}/u;
const wordCharacter = /[\p{L}\p{N}_]/u;

/** Where it stands alone: an id `a` is no part of `failed`. */
function replaceWhole(text: string, id: string): string {
  let replaced = '';
  let from = 0;
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, from)) {
    const end = at + id.length;
    const isWhole = !wordCharacter.test(text.charAt(at - 1)) && !wordCharacter.test(text.charAt(end));
    replaced += text.slice(from, at) + (isWhole ? '#' : id);
    from = end;
  }
  return replaced + text.slice(from);
}

/** Its name alone: lines and files move from build to build, and a bundle has one file. '': not known. */
function ownFunction(stack: string): string {
  for (const line of stack.split('\n')) {
    const frame = /^\s*at (.*)$/.exec(line)?.[1];
    if (frame === undefined || /node:|\/node_modules\/|\(native\)|<anonymous>\)?$/.test(frame)) continue;
    const named = frame.lastIndexOf(' (');
    // Words in front say how it was called.
    const called = frame.slice(0, named).replace(/ \[as .*\]$/, '');
    if (named > 0) return called.slice(called.lastIndexOf(' ') + 1);
  }
  return '';
}

function hex(hash: number): string {
  return hash.toString(16).padStart(8, '0');
}
