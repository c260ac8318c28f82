/**
 * Gathers the tasks that matching has stored, and has the shard note in its journal that it need not offer them again.
 *
 *     stored ─▶ gathered ─┬─ a moment later ──┬─▶ noteAtMatching ─▶ one record for those that are pending still
 *                         └─ there are many ──┘
 *
 * What workers take within that moment costs nothing: a record is for a backlog. A note that is lost (a crash, a takeover) costs a copy: the next
 * owner offers the task once more, and history refuses one of the two.
 */
import type { NoteAtMatching } from '../../history/commands/task-commands.ts';
import type { AskFailure } from '../asks/asks.ts';
import type { Tenure } from '../partition/partition-core.ts';

const NOTE_DELAY_MS = 1_000;
/** Tasks in one record: some kilobytes, and a fraction of a millisecond. */
const NOTE_TASKS_MAX = 1_000;

export type AtMatchingNotesOptions = {
  readonly tenure: Pick<Tenure<never>, 'after'>;
  readonly submit: (command: NoteAtMatching) => AskFailure | undefined;
};

export class AtMatchingNotes {
  readonly #options: AtMatchingNotesOptions;
  #taskIds: number[] = [];
  #isArmed = false;

  constructor(options: AtMatchingNotesOptions) {
    this.#options = options;
  }

  add(taskId: number): void {
    this.#taskIds.push(taskId);
    if (this.#taskIds.length === NOTE_TASKS_MAX) this.#note();
    if (this.#taskIds.length > 0) this.#noteLater();
  }

  #noteLater(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#options.tenure.after(NOTE_DELAY_MS, () => {
      this.#isArmed = false;
      while (this.#taskIds.length > 0) if (!this.#note()) return this.#noteLater();
    });
  }

  #note(): boolean {
    const taskIds = this.#taskIds.slice(0, NOTE_TASKS_MAX);
    if (this.#options.submit({ kind: 'noteAtMatching', taskIds }) !== undefined) return false;
    this.#taskIds = this.#taskIds.slice(NOTE_TASKS_MAX);
    return true;
  }
}
