/**
 * Where a completion callback goes, and whether operators allow that.
 *
 *     url ──callbackUrl──▶ its parts, as they are connected to ──addressProblem(rules)──▶ undefined, or why not
 *
 * The parts are read as the sender reads them (WHATWG): `http://2130706433/` is 127.0.0.1 for both, so what is checked is what is called.
 */

/** An entry of `callback.allowedAddresses`. `pattern`: of `host:port`, in which `*` is any number of any characters. */
export type AddressRule = {
  readonly pattern: string;
  /** Allows addresses without TLS. */
  readonly allowInsecure: boolean;
  /** Addresses that are no public ones too: of this machine, of its networks. */
  readonly allowPrivate: boolean;
};

export type CallbackUrl = {
  readonly url: string;
  readonly isSecure: boolean;
  /** The host that is connected to: an IPv6 address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** `https://example.com:8443`: callbacks to one destination share its circuit breaker. */
  readonly destination: string;
};

/** What nobody but Temporal's own server can receive. */
export const systemUrls: readonly string[] = ['temporal://system', 'temporal://internal'];

/** A text: why it is none. */
export function callbackUrl(url: string): CallbackUrl | string {
  if (hasControlCharacter(url)) return `invalid callback url: parse ${JSON.stringify(url)}: net/url: invalid control character in URL`;
  if (!/^https?:/i.test(url)) return `invalid url: unknown scheme: ${url}`;
  // A browser would find a host in `http:/example.com` all the same.
  if (!/^https?:\/\/[^/?#\\]/i.test(url)) return 'invalid url: missing host';
  const parsed = URL.parse(url);
  // Port 0 is nobody's, and Node would take the usual one for it, of which no rule was asked.
  if (parsed === null || parsed.port === '0') return `invalid callback url: parse ${JSON.stringify(url)}: invalid host or port`;
  const isSecure = parsed.protocol === 'https:';
  return {
    url,
    isSecure,
    hostname: parsed.hostname.startsWith('[') ? parsed.hostname.slice(1, -1) : parsed.hostname,
    port: parsed.port === '' ? defaultPort(isSecure) : Number(parsed.port),
    destination: `${parsed.protocol}//${parsed.host}`,
  };
}

function defaultPort(isSecure: boolean): number {
  return isSecure ? 443 : 80;
}

/** Control characters, and a space at either end, which a URL is read without. */
function hasControlCharacter(url: string): boolean {
  for (let at = 0; at < url.length; at++) if (url.charCodeAt(at) < 0x20 || url.charCodeAt(at) === 0x7f) return true;
  return url.trim() !== url;
}

/** undefined: it may be called. The first rule that fits decides. */
export function addressProblem(address: CallbackUrl, rules: readonly AddressRule[]): string | undefined {
  const rule = ruleFor(address, rules);
  if (rule === undefined) return `invalid url: url does not match any configured callback address: ${address.url}`;
  if (address.isSecure || rule.allowInsecure) return undefined;
  return `invalid url: callback address does not allow insecure connections: ${address.url}`;
}

export function ruleFor(address: CallbackUrl, rules: readonly AddressRule[]): AddressRule | undefined {
  const host = address.hostname.includes(':') ? `[${address.hostname}]` : address.hostname;
  const withPort = `${host}:${address.port}`;
  const isUsualPort = address.port === defaultPort(address.isSecure);
  return rules.find(({ pattern }) => fits(pattern, withPort) || (isUsualPort && fits(pattern, host)));
}

/** Each piece between two stars is looked for behind the one before: linear, whatever the pattern. */
function fits(pattern: string, text: string): boolean {
  const pieces = pattern.toLowerCase().split('*');
  const first = pieces[0] ?? '';
  if (pieces.length === 1) return first === text;
  const last = pieces.at(-1) ?? '';
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
