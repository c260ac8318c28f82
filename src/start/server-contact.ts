/**
 * How others find out whether a server that claimed is still there. Its claims carry the addresses of its listener and the id of its
 * process, and `GET /health` answers with that id: another program on the port, or another server, is told apart.
 */
import type { networkInterfaces } from 'node:os';
import { decodeClaim, emptyClaim, encodeClaim } from '../wire/generated/journal/claim.ts';
import type { ClaimCodec } from '../actors/ownership/claim.ts';

export type ServerContact = {
  /** Drawn anew at every start of a process. */
  readonly instance: string;
  /** `host:port`, IPv6 in brackets; may be empty. */
  readonly addresses: readonly string[];
};

/** The contact is the process's, not the partition's: actors neither know nor read it. */
export function claimsOf({ instance, addresses }: ServerContact): ClaimCodec {
  return { encode: (claim) => encodeClaim({ ...emptyClaim(), ...claim, instance, addresses }), decode: decodeClaim };
}

export const addressesMax = 8;

/** Where a listener on `host` may be reached, from this machine and from others. None for port 0, which is drawn later. */
export function listenerAddresses(host: string, port: number, machine: Machine): readonly string[] {
  if (port === 0) return [];
  return hostsOf(host, machine)
    .slice(0, addressesMax)
    .map((one) => (one.includes(':') ? `[${one}]:${port}` : `${one}:${port}`));
}

export type Machine = { readonly name: string; readonly interfaces: ReturnType<typeof networkInterfaces> };

function hostsOf(host: string, { name, interfaces }: Machine): readonly string[] {
  if (host === 'localhost') return ['127.0.0.1', '::1'];
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const external = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    // A link-local address means nothing without the name of an interface.
    .filter(({ internal, family, address }) => !internal && (family === 'IPv4' || host === '::') && !address.startsWith('fe80'))
    .map(({ address }) => address);
  return ['127.0.0.1', name, ...external];
}
