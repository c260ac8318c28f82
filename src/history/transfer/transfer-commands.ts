/** Of the tasks that matching is told of. */

/** Tasks for workers that matching has answered as stored. Those that have started or ended meanwhile are passed over. No reply. */
export type NoteAtMatching = { readonly kind: 'noteAtMatching'; readonly taskIds: readonly number[] };
