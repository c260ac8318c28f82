/** Which IP addresses are anybody's: all others lead to this machine, or into networks that callers from outside have no business in. */
import { BlockList, isIPv4 } from 'node:net';

/** This machine, private, link-local (with the metadata services of clouds), carrier-grade NAT, documentation, benchmarks, multicast, reserved. */
const v4Ranges =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3';

/** Ranges of 2000::/3: tunnels whose addresses hold one of IPv4, and documentation. */
const v6Ranges = '2001::/23 2001:db8::/32 2002::/16 3fff::/20';

const refused = new BlockList();
for (const range of `${v4Ranges} ${v6Ranges}`.split(' ')) {
  const [net = '', prefix] = range.split('/');
  refused.addSubnet(net, Number(prefix), isIPv4(net) ? 'ipv4' : 'ipv6');
}
/** What is given to anybody; ::1, ::ffff:127.0.0.1, fc00::/7, fe80::/10, 64:ff9b::/96 and all others are outside. */
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4');
  // With a zone (`fe80::1%eth0`) it is no address that a list knows.
  return !address.includes('%') && global.check(address, 'ipv6') && !refused.check(address, 'ipv6');
}
