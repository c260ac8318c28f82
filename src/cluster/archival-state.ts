/**
 * Whether closed histories of a namespace are archived, and where, as Temporal decides it.
 *
 *     {disabled, no URI} ── a URI, or enabled (then the cluster's default) ─▶ {disabled | enabled, URI} ── on and off, as often as wanted
 *
 * A URI that is set never changes: what is in there would not be found again.
 */
export type ArchivalState = {
  readonly isEnabled: boolean;
  /** '' = none yet. */
  readonly uri: string;
};

export type ArchivalChange = {
  /** undefined: as it is. */
  readonly isEnabled: boolean | undefined;
  /** '' = as it is. */
  readonly uri: string;
  /** Where nothing is set and none is named. */
  readonly defaultUri: string;
};

export const notArchived: ArchivalState = { isEnabled: false, uri: '' };

export const otherUri = 'Cannot update existing archival URI';

/** Answers the same object if nothing changes. */
export function nextArchivalState(state: ArchivalState, { isEnabled, uri, defaultUri }: ArchivalChange): ArchivalState | typeof otherUri {
  if (state.uri !== '' && uri !== '' && state.uri !== uri) return otherUri;
  const enabled = isEnabled ?? state.isEnabled;
  const wanted = state.uri !== '' || (uri === '' && !enabled) ? state.uri : uri === '' ? defaultUri : uri;
  return enabled === state.isEnabled && wanted === state.uri ? state : { isEnabled: enabled, uri: wanted };
}
