import type { lookup } from 'node:dns';
import { afterEach, describe, expect, test } from 'vitest';
import { callbackUrl } from '../../src/kernel/callback-address.ts';
import type { DeliveryOutcome } from '../../src/outbound/completion-answer.ts';
import { HttpSender, type Post } from '../../src/outbound/http-sender.ts';
import { Lookups } from '../../src/outbound/lookups.ts';
import { type Answering, HttpTarget } from './http-target.ts';

const targets: HttpTarget[] = [];
afterEach(async () => {
  for (const target of targets.splice(0)) await target.close();
});

async function target(answer?: Answering): Promise<HttpTarget> {
  const opened = await HttpTarget.open(answer);
  targets.push(opened);
  return opened;
}

function post(url: string, more: Partial<Post> = {}, sender = new HttpSender()): Promise<DeliveryOutcome> {
  const address = callbackUrl(url);
  if (typeof address === 'string') throw new Error(address);
  const headers = new Map([['x-token', 'abc']]);
  return new Promise((resolve) => {
    sender.post(
      { namespaceId: 'a', address, headers, body: Buffer.from('result'), timeoutMs: 5_000, allowPrivate: true, ...more },
      resolve,
    );
  });
}

/** Names into addresses as `answer` says. */
function resolver(answer: (hostname: string, times: number) => readonly string[]): Lookups {
  let times = 0;
  const resolve = (hostname: string, _options: unknown, callback: (error: null, addresses: readonly object[]) => void): void => {
    const addresses = answer(hostname, ++times).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    setImmediate(() => callback(null, addresses));
  };
  return new Lookups(resolve as unknown as typeof lookup);
}

describe('a POST', () => {
  test('arrives with its path, headers and body', async () => {
    const { url, received } = await target().then((opened) => ({ url: opened.url('/a%20b?x=1'), received: opened.received }));
    expect(await post(url)).toEqual({ kind: 'delivered' });
    expect(received).toMatchObject([{ path: '/a%20b?x=1', headers: { 'x-token': 'abc', 'content-length': '6', connection: 'close' } }]);
    expect(received[0]?.body.toString()).toBe('result');
  });

  test('bears what the URL says of who calls', async () => {
    const opened = await target();
    await post(opened.url().replace('http://', 'http://me:se%20cret@'));
    expect(opened.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:se cret').toString('base64')}`);
  });

  test('is made whatever the URL says of who calls', async () => {
    const opened = await target();
    expect(await post(opened.url().replace('http://', 'http://me:100%@'))).toEqual({ kind: 'delivered' });
    expect(opened.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:100%').toString('base64')}`);
  });

  test('follows no redirect', async () => {
    const elsewhere = await target();
    const opened = await target((response) => response.writeHead(307, { location: elsewhere.url() }).end());
    expect(await post(opened.url())).toMatchObject({ kind: 'refused', errorType: 'Redirect' });
    expect(elsewhere.received).toEqual([]);
  });

  test('waits no longer than its time: for an answer, and for the rest of one', async () => {
    const silent = await target(() => {});
    expect(await post(silent.url(), { timeoutMs: 50 })).toMatchObject({ kind: 'failed', errorType: 'RequestTimeout' });
    const slow = await target((response) => response.writeHead(400).write('{'));
    expect(await post(slow.url(), { timeoutMs: 50 })).toMatchObject({ kind: 'failed', errorType: 'RequestTimeout' });
  });

  test.each([
    ['has a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnone\r\n'],
    ['has endless trailers', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
    ['has a body where there is none', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nno'],
    ['never ends', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nn'],
  ])('has been taken where the answer says so and %s', async (_, text) => {
    const opened = await target((response) => response.socket?.write(text));
    expect(await post(opened.url(), { timeoutMs: 500 })).toEqual({ kind: 'delivered' });
  });

  test('has been taken, or refused, though the connection breaks behind the status', async () => {
    const breaks = (status: number): Answering => {
      return (response) => response.writeHead(status, { 'content-length': 2 }).write('n', () => response.socket?.resetAndDestroy());
    };
    expect(await post((await target(breaks(200))).url())).toEqual({ kind: 'delivered' });
    expect(await post((await target(breaks(401))).url())).toMatchObject({ kind: 'refused' });
    expect(await post((await target(breaks(503))).url())).toMatchObject({ kind: 'failed', errorType: 'HandlerError UNAVAILABLE' });
  });

  test('reads no more than 64 KiB of an answer', async () => {
    const endless = await target((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x')));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect(await post(endless.url())).toMatchObject({ kind: 'refused', errorType: 'HandlerError BAD_REQUEST' });
  });

  test('reads no more than 16 KiB of headers', async () => {
    const wordy = await target((response) => response.writeHead(200, { 'x-long': 'y'.repeat(20_000) }).end());
    expect(await post(wordy.url())).toMatchObject({ kind: 'failed', errorType: 'HPE_HEADER_OVERFLOW' });
  });

  test('fails where nobody listens, where the connection breaks, and with a header that cannot be sent', async () => {
    const opened = await target((response) => response.destroy());
    expect(await post(opened.url())).toMatchObject({ kind: 'failed', errorType: 'ECONNRESET' });
    const url = opened.url();
    await opened.close();
    expect(await post(url)).toMatchObject({ kind: 'failed', errorType: 'ECONNREFUSED' });
    expect(await post(url, { headers: new Map([['x', 'a\r\nb']]) })).toMatchObject({ kind: 'failed', errorType: 'ERR_INVALID_CHAR' });
  });

  test('tells no more than the beginning of what went wrong, however much others say of that', async () => {
    const resolve = (_: string, __: unknown, callback: (error: Error) => void): void => {
      setImmediate(() => callback(new Error('x'.repeat(100_000))));
    };
    const outcome = await post('http://wordy.example:9/', {}, new HttpSender(new Lookups(resolve as unknown as typeof lookup)));
    expect(outcome).toMatchObject({ kind: 'failed', message: 'x'.repeat(1_000) });
  });

  test.each(['EMFILE', 'EADDRNOTAVAIL'])('was not sent where this machine has no means to: %s', async (code) => {
    const resolve = (_: string, __: unknown, callback: (error: Error) => void): void => {
      setImmediate(() => callback(Object.assign(new Error('none is left'), { code })));
    };
    const outcome = await post('http://any.example:9/', {}, new HttpSender(new Lookups(resolve as unknown as typeof lookup)));
    expect(outcome).toEqual({ kind: 'full', errorType: code, message: 'none is left' });
  });

  test('to addresses of which this machine can reach none, or only such as do not answer, has failed', async () => {
    // As on a machine without IPv6.
    const noSource = Object.assign(new Error('connect'), { code: 'EADDRNOTAVAIL', address: '2001:db8::1' });
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', address: '192.0.2.1' });
    const both = Object.assign(new AggregateError([noSource, refused], ''), { code: 'EADDRNOTAVAIL' });
    for (const error of [noSource, both]) {
      const resolve = (_: string, __: unknown, callback: (thrown: Error) => void): void => {
        setImmediate(() => callback(error));
      };
      const outcome = await post('http://any.example:9/', {}, new HttpSender(new Lookups(resolve as unknown as typeof lookup)));
      expect(outcome).toMatchObject({ kind: 'failed', errorType: 'EADDRNOTAVAIL' });
    }
  });

  test('that is given up is heard of no more', async () => {
    const opened = await target(() => {});
    const address = callbackUrl(opened.url());
    if (typeof address === 'string') throw new Error(address);
    let outcomes = 0;
    const giveUp = new HttpSender().post(
      { namespaceId: 'a', address, headers: new Map(), body: new Uint8Array(), timeoutMs: 5_000, allowPrivate: true },
      () => outcomes++,
    );
    await opened.requests(1);
    giveUp();
    await opened.close();
    expect(outcomes).toBe(0);
  });
});

describe('an address that is not public', () => {
  const refused = { kind: 'refused', errorType: 'PrivateAddress' };

  test.each([
    'http://127.0.0.1',
    'http://[::1]',
    'http://2130706433',
    'http://0177.1',
    'http://[::ffff:127.0.0.1]',
    'http://169.254.169.254',
  ])('%s is not called', async (url) => {
    expect(await post(`${url}:9/`, { allowPrivate: false })).toMatchObject(refused);
  });

  test('is not called by a name either', async () => {
    const opened = await target();
    const sender = new HttpSender(resolver(() => ['127.0.0.1', '10.0.0.1', '::1']));
    expect(await post(`http://inside.example:${opened.port}/`, { allowPrivate: false }, sender)).toMatchObject(refused);
    expect(opened.received).toEqual([]);
  });

  test('is looked at where it is connected to: nobody asks for the name twice, so no second answer can lead elsewhere', async () => {
    const opened = await target();
    let asked = 0;
    const sender = new HttpSender(resolver((_, times) => ((asked = times) === 1 ? ['10.0.0.1', '127.0.0.1'] : ['127.0.0.1'])));
    const url = `http://rebinding.example:${opened.port}/`;
    expect(await post(url, { allowPrivate: false }, sender)).toMatchObject(refused);
    expect({ asked, received: opened.received }).toEqual({ asked: 1, received: [] });
  });

  test('is called where the rule says so', async () => {
    const opened = await target();
    const sender = new HttpSender(resolver(() => ['127.0.0.1']));
    expect(await post(`http://inside.example:${opened.port}/`, {}, sender)).toEqual({ kind: 'delivered' });
    expect(opened.received[0]?.headers.host).toBe(`inside.example:${opened.port}`);
  });
});

describe('names', () => {
  type Asked = { readonly hostname: string; readonly answer: () => void };
  const address = { address: '127.0.0.1', family: 4 };

  function asking(): { readonly lookups: Lookups; readonly asked: Asked[]; readonly names: () => readonly string[] } {
    const asked: Asked[] = [];
    const resolve = (hostname: string, _: unknown, callback: (error: null, addresses: readonly object[]) => void): void => {
      asked.push({ hostname, answer: () => callback(null, [address]) });
    };
    return {
      lookups: new Lookups(resolve as unknown as typeof lookup),
      asked,
      names: () => asked.map(({ hostname }) => hostname),
    };
  }

  test('are looked up once for all of a namespace who ask', () => {
    const { lookups, asked, names } = asking();
    let answers = 0;
    for (const name of ['x', 'x', 'y', 'x']) lookups.addressesOf('a', name, () => answers++);
    asked[0]?.answer();
    expect({ answers, names: names() }).toEqual({ answers: 3, names: ['x', 'y'] });
  });

  test('that hang hold up their namespace, and no other', () => {
    const { lookups, asked, names } = asking();
    const answered: string[] = [];
    const ask = (namespaceId: string, name: string): unknown => lookups.addressesOf(namespaceId, name, () => answered.push(name));
    ask('bad', 'known');
    asked[0]?.answer();
    for (let count = 0; count < 50; count++) ask('bad', `hangs${count}`);
    ask('good', 'new');
    ask('bad', 'known');
    expect(names()).toEqual(['known', 'hangs0', 'new', 'known']);
    asked[2]?.answer();
    asked[3]?.answer();
    asked[1]?.answer();
    expect(answered).toEqual(['known', 'new', 'known', 'hangs0']);
    expect(names().at(-1)).toBe('hangs1');
  });

  test('are looked up four of a kind at a time, and namespaces take turns', () => {
    const { lookups, asked, names } = asking();
    for (const namespaceId of ['a', 'b', 'c', 'd', 'e']) {
      for (const nth of [1, 2]) lookups.addressesOf(namespaceId, `${namespaceId}${nth}`, () => {});
    }
    expect(names()).toEqual(['a1', 'b1', 'c1', 'd1']);
    for (let nth = 0; nth < 6; nth++) asked[nth]?.answer();
    expect(names()).toEqual(['a1', 'b1', 'c1', 'd1', 'e1', 'a2', 'b2', 'c2', 'd2', 'e2']);
  });

  test('that nobody waits for any more are not looked up', () => {
    const { lookups, asked, names } = asking();
    const nothing = (): void => {};
    lookups.addressesOf('a', 'hangs', nothing);
    const leave = [lookups.addressesOf('a', 'x', nothing), lookups.addressesOf('a', 'x', nothing), lookups.addressesOf('a', 'y', nothing)];
    lookups.addressesOf('a', 'z', nothing);
    for (const one of leave) one();
    asked[0]?.answer();
    expect(names()).toEqual(['hangs', 'z']);
  });

  test('a request that has run out of time leaves the line', async () => {
    const { lookups, asked, names } = asking();
    const sender = new HttpSender(lookups);
    const outcomes = ['hangs', 'x', 'y'].map((name) => post(`http://${name}.example:9/`, { timeoutMs: 50 }, sender));
    expect(await Promise.all(outcomes)).toMatchObject(outcomes.map(() => ({ kind: 'failed', errorType: 'RequestTimeout' })));
    asked[0]?.answer();
    expect(names()).toEqual(['hangs.example']);
  });
});
