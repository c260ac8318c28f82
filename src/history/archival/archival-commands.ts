/** What becomes of a closed run that is to be archived (archive.ts). */

/** The history of a run is archived, or there is no run any more. No reply. */
export type Archived = { readonly kind: 'archived'; readonly taskId: number };

/** Whether a letter of the run's archive task, or of one of its callbacks, is in its queue still; also where nobody can tell. No reply. */
export type LetterChecked = { readonly kind: 'letterChecked'; readonly taskId: number; readonly isOpen: boolean };

export type ArchivalCommand = Archived | LetterChecked;
