/**
 * What requests say of the archival of a namespace's histories. In a cluster that archives none it is passed over, as in Temporal, and namespaces
 * say that they are not archived.
 */
import type { ArchivalChange, ArchivalState as Archival } from '../../cluster/archival-state.ts';
import { ArchivalState } from '../../wire/generated/lean/enums.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { ArchivalPort } from '../../actors/archiver.ts';

type Asked = { readonly state: number; readonly uri: string };

/** What is left out is the cluster's default. */
export function registeredArchival(port: ArchivalPort | undefined, asked: Asked): Promise<ArchivalChange | undefined> {
  const isEnabledByDefault = port?.namespaceDefault.isEnabled === true;
  const state = asked.state === ArchivalState.UNSPECIFIED && isEnabledByDefault ? ArchivalState.ENABLED : asked.state;
  return archivalChange(port, { ...asked, state });
}

/** undefined: nothing changes. */
export async function archivalChange(port: ArchivalPort | undefined, { state, uri }: Asked): Promise<ArchivalChange | undefined> {
  if (port === undefined || (state === ArchivalState.UNSPECIFIED && uri === '')) return undefined;
  const defaultUri = port.namespaceDefault.uri;
  const isEnabled = state === ArchivalState.UNSPECIFIED ? undefined : state === ArchivalState.ENABLED;
  const wanted = uri === '' && isEnabled === true ? defaultUri : uri;
  const problem = wanted === '' ? undefined : await port.archiver.problemOf(wanted);
  if (problem !== undefined) throw invalidArgument(`Invalid archival URI: ${problem}`);
  return { isEnabled, uri, defaultUri };
}

export function describedArchival(port: ArchivalPort | undefined, { isEnabled, uri }: Archival) {
  if (port === undefined) return { historyArchivalState: ArchivalState.DISABLED, historyArchivalUri: '' };
  return { historyArchivalState: isEnabled ? ArchivalState.ENABLED : ArchivalState.DISABLED, historyArchivalUri: uri };
}
