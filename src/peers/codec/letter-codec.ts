/** A dead letter as bytes, and what an index knows of it. */
import type { Letter, LetterTask } from '../../deadletters/letter.ts';
import type { ListedLetter } from '../../deadletters/letter-commands.ts';
import type { LetterRow } from '../../deadletters/letter-records.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import type * as wire from '../../wire/generated/peer/dead_letters.ts';
import * as wireOfRuns from '../../wire/generated/peer/history.ts';
import { wholeOf, wordOf } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';
import type { TaskFailure } from '../../history/commands/hand-over-commands.ts';
import type { LetterOutcome } from '../../history/run/letter-marks.ts';
import { unreachable } from '../../kernel/assert.ts';
import { WireError } from '../../wire/wire-error.ts';
import { letterCauses, letterDispositions, type LetterState, letterStates } from '../../kernel/letter-words.ts';

export function letterToWire(letter: CompleteWithin<Letter>): wire.Letter {
  return { ...letter, task: taskToWire(letter.task) };
}

export function letterFromWire(letter: wire.Letter): CompleteWithin<Letter> {
  const { task, failure, state } = letter;
  return { ...letter, task: taskFromWire(task), failure: letterFailureFromWire(failure), state: stateOf(state, 'Letter.state') };
}

function taskToWire(task: LetterTask): wire.LetterTask {
  return {
    ...task,
    taskId: String(task.taskId),
    taskVersion: task.taskVersion?.toString(),
    eventId: task.eventId?.toString(),
    nextEventId: task.nextEventId?.toString(),
  };
}

function taskFromWire(task: wire.LetterTask): LetterTask {
  return {
    ...task,
    taskId: wholeOf(task.taskId),
    taskVersion: maybeWhole(task.taskVersion),
    eventId: maybeWhole(task.eventId),
    nextEventId: maybeWhole(task.nextEventId),
  };
}

export function listedToWire({ row, content }: CompleteWithin<ListedLetter>): wire.ListedLetter {
  return { row: rowToWire(row), content: content && { ...content, letter: content.letter && letterToWire(content.letter) } };
}

export function listedFromWire({ row, content }: wire.ListedLetter): CompleteWithin<ListedLetter> {
  return { row: rowFromWire(row), content: content && { ...content, letter: content.letter && letterFromWire(content.letter) } };
}

function rowToWire(row: LetterRow): wire.LetterRow {
  return {
    ...row,
    taskId: row.taskId?.toString(),
    firstEventId: row.firstEventId?.toString(),
    nextEventId: row.nextEventId?.toString(),
    version: row.version?.toString(),
  };
}

function rowFromWire(row: wire.LetterRow): LetterRow {
  return {
    ...row,
    taskId: maybeWhole(row.taskId),
    cause: row.cause === '' ? '' : wordOf(letterCauses, row.cause, 'LetterRow.cause'),
    disposition: row.disposition === '' ? '' : wordOf(letterDispositions, row.disposition, 'LetterRow.disposition'),
    state: stateOf(row.state, 'LetterRow.state'),
    firstEventId: maybeWhole(row.firstEventId),
    nextEventId: maybeWhole(row.nextEventId),
    version: maybeWhole(row.version),
  };
}

function stateOf(word: string, field: string): LetterState {
  return wordOf(letterStates, word, field);
}

function maybeWhole(digits: string | undefined): number | bigint | undefined {
  return digits === undefined ? undefined : wholeOf(digits);
}

/** What has come of a letter whose task was executed again. */

const noLetterOutcome = wireOfRuns.emptyLetterOutcome();
const letterOutcomes: Words<LetterOutcome['kind']> = words('applied noop failed');

export function letterOutcomeToWire(outcome: LetterOutcome): wireOfRuns.LetterOutcome {
  return { ...noLetterOutcome, ...outcome };
}

export function letterOutcomeFromWire({ kind: word, detail, failure }: wireOfRuns.LetterOutcome): LetterOutcome {
  const kind = wordOf(letterOutcomes, word, 'LetterOutcome.kind');
  switch (kind) {
    case 'applied':
      return { kind };
    case 'noop':
      return { kind, detail };
    case 'failed':
      if (failure === undefined) throw new WireError('LetterOutcome.failure is missing');
      return { kind, failure: letterFailureFromWire(failure) };
    default:
      return unreachable(kind);
  }
}

function letterFailureFromWire({ cause, disposition, ...failure }: wireOfRuns.LetterFailure): TaskFailure {
  return {
    ...failure,
    cause: wordOf(letterCauses, cause, 'LetterFailure.cause'),
    disposition: wordOf(letterDispositions, disposition, 'LetterFailure.disposition'),
  };
}
