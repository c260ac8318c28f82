/** What of a job's progress is journaled: each time only where there is something new, for each note is a record in the journal of all jobs. */
import type { NoteProgress } from '../../../deadletters/jobs/own-commands.ts';
import type { JobTally } from './jobs-tally.ts';

/** So many letters are not left to be looked at again after a crash. */
const NOTE_LETTERS = 1_000;

export class JobNotes {
  readonly #tally: JobTally;
  readonly #tell: (progress: NoteProgress['progress']) => void;
  #notedLetters: number;
  #notedFailures = -1;

  constructor(tally: JobTally, tell: (progress: NoteProgress['progress']) => void) {
    this.#tally = tally;
    this.#tell = tell;
    this.#notedLetters = tally.handled;
  }

  get isMuch(): boolean {
    return this.#tally.handled - this.#notedLetters >= NOTE_LETTERS;
  }

  /** `windowEnd`: of the window that is committed; a larger one is asked for until it is. */
  note(windowEnd: number): void {
    if (this.#tally.handled === this.#notedLetters && this.#tally.windowEnd <= windowEnd) return;
    this.#tellAll();
  }

  /** Once for each number of them: whoever decides whether they are too many has to hear of it. */
  noteFailures(): void {
    if (this.#notedFailures === this.#tally.failed) return;
    this.#notedFailures = this.#tally.failed;
    this.#tellAll();
  }

  #tellAll(): void {
    this.#notedLetters = this.#tally.handled;
    this.#tell(this.#tally.progress());
  }
}
