/** Its claims have the addresses of a server and the id of its process; `GET /health` answers with that id, as no other program does. */
import type { networkInterfaces } from 'node:os';
import { decodeClaim, emptyClaim, encodeClaim } from '../wire/generated/journal/claim.ts';
import type { ClaimCodec } from '../actors/ownership/effective.ts';

export type ServerContact = {
  readonly instance: string;
  /** Addresses as `host:port`, IPv6 in brackets; may be empty. */
  readonly addresses: readonly string[];
};

/** The contact belongs to the process, not to a partition, so actors do not know it. */
export function claimsOf({ instance, addresses }: ServerContact): ClaimCodec {
  return { encode: (claim) => encodeClaim({ ...emptyClaim(), ...claim, instance, addresses }), decode: decodeClaim };
}

export const addressesMax = 8;

/** The addresses at which a listener on `host` may be reached, from this machine and from others. None for port 0, because the real port is not known yet. */
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
    // A link-local address is useless without the name of an interface.
    .filter(({ internal, family, address }) => !internal && (family === 'IPv4' || host === '::') && !address.startsWith('fe80'))
    .map(({ address }) => address);
  return ['127.0.0.1', name, ...external];
}
