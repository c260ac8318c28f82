import { describe, expect, test } from 'vitest';
import { addressProblem, type AddressRule, callbackUrl, type CallbackUrl } from '../../src/kernel/callback-address.ts';

const rule = (pattern: string, more: Partial<AddressRule> = {}): AddressRule => ({
  pattern,
  allowInsecure: true,
  allowPrivate: false,
  ...more,
});

function parsed(url: string): CallbackUrl {
  const address = callbackUrl(url);
  if (typeof address === 'string') throw new Error(address);
  return address;
}

describe('a callback URL', () => {
  test.each([
    ['ftp://example.com', 'invalid url: unknown scheme: ftp://example.com'],
    ['', 'invalid url: unknown scheme: '],
    ['example.com/path', 'invalid url: unknown scheme: example.com/path'],
    ['file:///etc/passwd', 'invalid url: unknown scheme: file:///etc/passwd'],
    ['http://', 'invalid url: missing host'],
    ['http:/example.com', 'invalid url: missing host'],
    ['https:example.com', 'invalid url: missing host'],
    ['http:///path', 'invalid url: missing host'],
    ['http://\\evil.com', 'invalid url: missing host'],
  ])('is refused: %s', (url, problem) => {
    expect(callbackUrl(url)).toBe(problem);
  });

  test.each([
    'http://exa\nmple.com',
    ' http://example.com',
    'http://example.com:99999',
    'http://example.com:0',
    'http://exa mple.com',
    'http://[::1',
  ])('is refused as malformed: %j', (url) => {
    expect(callbackUrl(url)).toMatch(/^invalid callback url: /);
  });

  test.each([
    ['http://2130706433/', '127.0.0.1', 80],
    ['http://0177.0.0.1/', '127.0.0.1', 80],
    ['http://0x7f.1:8080/', '127.0.0.1', 8080],
    ['https://[::FFFF:127.0.0.1]/', '::ffff:7f00:1', 443],
    ['https://EXAMPLE.com', 'example.com', 443],
    ['https://allowed.com\\@evil.com/', 'allowed.com', 443],
    ['https://allowed.com@evil.com:444/', 'evil.com', 444],
  ])('%s is of the host that is connected to', (url, hostname, port) => {
    expect(parsed(url)).toMatchObject({ hostname, port });
  });
});

describe('allowed addresses', () => {
  test.each([
    ['https://example.com/done', ['example.com']],
    ['https://example.com/done', ['example.com:443']],
    ['https://example.com:443/done', ['example.com']],
    ['https://a.b.example.com/', ['*.example.com']],
    ['https://example.com:8443/', ['example.com:*']],
    ['https://example.com:8443/', ['other.com', 'example.com:8443']],
    ['https://prefix.x.y.domain/', ['prefix.*.domain']],
    ['https://EXAMPLE.com/', ['Example.COM']],
    ['http://[::1]:9000/', ['[::1]:9000']],
    ['http://example.com/', ['*']],
  ])('%s fits %j', (url, patterns) => {
    expect(
      addressProblem(
        parsed(url),
        patterns.map((pattern) => rule(pattern)),
      ),
    ).toBeUndefined();
  });

  test.each([
    ['https://example.com/', []],
    ['https://example.com/', ['xample.com']],
    ['https://example.com.evil.com/', ['example.com']],
    ['https://evil-example.com/', ['*.example.com']],
    ['https://example.com:8443/', ['example.com']],
    ['https://example.com/', ['example.com:80']],
    ['https://evil.com/?x=.example.com', ['*.example.com']],
    ['https://aba/', ['ab*ba']],
  ])('%s does not fit %j', (url, patterns) => {
    const problem = addressProblem(
      parsed(url),
      patterns.map((pattern) => rule(pattern)),
    );
    expect(problem).toBe(`invalid url: url does not match any configured callback address: ${url}`);
  });

  test('without TLS only where a rule says so; the first that fits decides', () => {
    const secure = rule('example.com', { allowInsecure: false });
    expect(addressProblem(parsed('http://example.com/'), [secure, rule('*')])).toBe(
      'invalid url: callback address does not allow insecure connections: http://example.com/',
    );
    expect(addressProblem(parsed('https://example.com/'), [secure])).toBeUndefined();
  });

  test('a pattern of many stars is no work', () => {
    const url = parsed(`https://${'a'.repeat(60)}.${'a'.repeat(60)}.${'a'.repeat(60)}.com/`);
    expect(addressProblem(url, [rule(`${'*a'.repeat(400)}b`)])).toBeDefined();
  });
});
