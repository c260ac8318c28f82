/** What becomes of a closed run that is to be archived (archive.ts). */

/** The history of a run is archived, or there is no run any more. No reply. */
export type Archived = { readonly kind: 'archived'; readonly taskId: number };

/** Whether the letter of a run's archive task is in its queue still; also where nobody can tell. No reply. */
export type ArchiveLetterChecked = { readonly kind: 'archiveLetterChecked'; readonly taskId: number; readonly isOpen: boolean };

export type ArchivalCommand = Archived | ArchiveLetterChecked;
