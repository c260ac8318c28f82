/**
 * Which dead letters this shard has executed again, or is executing: each is executed once, however often it is asked for.
 *
 *     executeLetter ─▶ pending: its task waits under a new id ─▶ ended: applied, noop or failed ── confirmLetter ─▶ no mark
 */
import { isSameQueue } from '../../kernel/queue-incarnation.ts';
import { failureBytes, type TaskFailure } from '../commands/hand-over-commands.ts';
import type { PendingTask } from './tasks.ts';
import type { LetterName } from '../commands/redrive-commands.ts';

export type LetterOutcome =
  | { readonly kind: 'applied' }
  /** There was nothing left to do; why, for people. */
  | { readonly kind: 'noop'; readonly detail: string }
  | { readonly kind: 'failed'; readonly failure: TaskFailure };

/** The task of a letter that is executed waits like any other, under an id of its own. */
export type BegunLetter = { readonly letter: LetterName; readonly task: PendingTask };

export type EndedLetter = { readonly letter: LetterName; readonly outcome: LetterOutcome };

/** `outcome` undefined: its task is pending. `taskId` 0: it needed none. */
export type LetterMark = { readonly letter: LetterName; readonly taskId: number; readonly outcome: LetterOutcome | undefined };

export type LetterMarksView = Pick<
  LetterMarks,
  'get' | 'pendingOf' | 'hasPending' | 'ofQueue' | 'ofIncarnationsBefore' | 'sizeOf' | 'size' | 'values'
>;

/** One for a letter, of its last generation that was asked for. */
export class LetterMarks {
  readonly #byLetter = new Map<string, LetterMark>();
  readonly #pending = new Map<number, LetterMark>();
  /** The oldest of a queue first. */
  readonly #queues = new Map<number, MarksOfQueue>();

  constructor(marks: readonly LetterMark[] = []) {
    for (const mark of marks) this.#set(mark, undefined);
  }

  get size(): number {
    return this.#byLetter.size;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  get(letter: LetterName): LetterMark | undefined {
    return this.#byLetter.get(markKey(letter));
  }

  /** The letter that the task is of; undefined: no letter's, or no longer. */
  pendingOf(taskId: number): LetterMark | undefined {
    return this.#pending.get(taskId);
  }

  values(): IterableIterator<LetterMark> {
    return this.#byLetter.values();
  }

  entries(): IterableIterator<[string, LetterMark]> {
    return this.#byLetter.entries();
  }

  /** Marks of earlier incarnations of the queue: its topic was deleted since, and their dead letters are gone. */
  *ofIncarnationsBefore(queue: number): Iterable<LetterMark> {
    for (const [other, { marks }] of this.#queues) if (other !== queue && isSameQueue(other, queue)) yield* marks.values();
  }

  ofQueue(queue: number): ReadonlyMap<number, LetterMark> {
    return this.#queues.get(queue)?.marks ?? noMarks;
  }

  /** The size of a queue's marks, or of one namespace's there. The namespace of a mark from a checkpoint is unknown: it counts for the queue alone. */
  sizeOf(queue: number, namespaceId?: string): MarksSize {
    const marks = this.#queues.get(queue);
    return (namespaceId === undefined ? marks?.size : marks?.ofNamespaces.get(namespaceId)) ?? noSize;
  }

  begin({ letter, task: { taskId, key } }: BegunLetter): void {
    this.#set({ letter, taskId, outcome: undefined }, key.namespaceId);
  }

  /** `namespaceId`: of its record, for one that was not begun. */
  end({ letter, outcome }: EndedLetter, namespaceId: string): void {
    const known = this.get(letter);
    const own = known === undefined ? namespaceId : this.#queues.get(letter.queue)?.namespaces.get(letter.messageId);
    this.#set({ letter, taskId: known?.taskId ?? 0, outcome }, own);
  }

  /** The run is deleted, and the task waited aside. */
  taskGone(taskId: number): void {
    const mark = this.#pending.get(taskId);
    if (mark !== undefined) this.end({ letter: mark.letter, outcome: { kind: 'noop', detail: 'the workflow was deleted' } }, '');
  }

  remove(letter: LetterName): void {
    const mark = this.get(letter);
    if (mark === undefined) return;
    this.#byLetter.delete(markKey(letter));
    this.#pending.delete(mark.taskId);
    const queue = this.#queues.get(letter.queue);
    if (queue === undefined) return;
    queue.marks.delete(letter.messageId);
    this.#counted(queue, mark, -1);
    queue.namespaces.delete(letter.messageId);
    if (queue.marks.size === 0) this.#queues.delete(letter.queue);
  }

  #set(mark: LetterMark, namespaceId: string | undefined): void {
    const { letter, taskId, outcome } = mark;
    this.remove(letter);
    this.#byLetter.set(markKey(letter), mark);
    if (outcome === undefined) this.#pending.set(taskId, mark);
    const queue = this.#queues.get(letter.queue) ?? newQueue();
    queue.marks.set(letter.messageId, mark);
    if (namespaceId !== undefined) queue.namespaces.set(letter.messageId, namespaceId);
    this.#counted(queue, mark, 1);
    this.#queues.set(letter.queue, queue);
  }

  #counted(queue: MarksOfQueue, mark: LetterMark, more: 1 | -1): void {
    add(queue.size, mark, more);
    const namespaceId = queue.namespaces.get(mark.letter.messageId);
    if (namespaceId === undefined) return;
    const size = queue.ofNamespaces.get(namespaceId) ?? { marks: 0, bytes: 0 };
    add(size, mark, more);
    if (size.marks === 0) queue.ofNamespaces.delete(namespaceId);
    else queue.ofNamespaces.set(namespaceId, size);
  }
}

export type MarksSize = { readonly marks: number; readonly bytes: number };
type Size = { marks: number; bytes: number };

type MarksOfQueue = {
  readonly marks: Map<number, LetterMark>;
  /** Ids of namespaces, by message id. */
  readonly namespaces: Map<number, string>;
  readonly size: Size;
  readonly ofNamespaces: Map<string, Size>;
};

const noMarks: ReadonlyMap<number, LetterMark> = new Map();
const noSize: MarksSize = { marks: 0, bytes: 0 };

function newQueue(): MarksOfQueue {
  return { marks: new Map(), namespaces: new Map(), size: { marks: 0, bytes: 0 }, ofNamespaces: new Map() };
}

function add(size: Size, mark: LetterMark, more: 1 | -1): void {
  size.marks += more;
  size.bytes += more * markBytes(mark);
}

export function markKey({ queue, messageId }: LetterName): string {
  return `letter ${queue}/${messageId}`;
}

const MARK_BYTES = 256;

function markBytes({ outcome }: LetterMark): number {
  return MARK_BYTES + (outcome?.kind === 'failed' ? failureBytes(outcome.failure) : 0);
}
