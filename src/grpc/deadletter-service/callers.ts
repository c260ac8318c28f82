/** Who asks for a change of letters, as the audit tells of him. */
import type { Caller } from '../../deadletters/audit/audit-entry.ts';
import type { Call } from '../transport/call.ts';

/** Until callers are known by their names. */
const anonymous = 'anonymous';

/** Of what a client says of itself: headers may be long. */
const TEXT_CHARS_MAX = 200;

export type Who = { readonly actor: string; readonly caller: Caller };

export function whoCalls(call: Call): Who {
  const [name, version] = [call.header('client-name'), call.header('client-version')];
  const client = [name, version].filter((part) => part !== '').join(' ') || call.header('user-agent');
  const requestId = call.header('x-request-id').slice(0, TEXT_CHARS_MAX);
  return { actor: anonymous, caller: { authType: '', peer: call.peer, client: client.slice(0, TEXT_CHARS_MAX), requestId } };
}
