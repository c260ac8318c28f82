/** Why a plan or job of dead letters was refused, where programs act on it. Errors have it beside their text, in this trailer. */
export const refusalReasonTrailer = 'x-perdure-reason';

export type RefusalReason =
  /** A plan has so many stretches of message ids at most; parts of it may be planned. */
  | 'too-many-stretches'
  /** A queue has so many active jobs at most. */
  | 'too-many-jobs'
  /** The plan was never made, or is forgotten. */
  | 'plan-not-found'
  | 'plan-expired';
