/** What failed, why, and since when the run's timers and tasks wait. */
export type PutAsideDescription = { readonly failedCommand: string; readonly reason: string; readonly timeMs: number };
