import { isIP } from 'node:net';

/** `host:port`, IPv6 in brackets. */
export function isHostPort(value: string): boolean {
  const match = /^(?:\[([^\]]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(value);
  if (match === null) return false;
  const [, ipv6, , portText] = match;
  const number = Number(portText);
  return number >= 1 && number <= 65535 && (ipv6 === undefined || isIP(ipv6) === 6);
}
