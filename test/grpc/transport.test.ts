import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { status as codes } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { decompressed } from '../../src/grpc/transport/compression.ts';
import { defaultTransportLimits, type TransportLimits } from '../../src/grpc/transport/transport-limits.ts';
import { notYet } from '../../src/grpc/rpcs/missing.ts';
import { rpcService } from '../../src/grpc/rpcs/rpc.ts';
import { healthAnswer } from '../../src/grpc/health/health-service.ts';
import { Gate } from '../../src/grpc/transport/gate.ts';
import { startListener, type RunningListener } from '../../src/grpc/transport/listener.ts';
import { page } from '../../src/grpc/transport/plain-http.ts';
import { MessageReader } from '../../src/grpc/transport/message-reader.ts';
import type { Call, Interceptor, Method, Service } from '../../src/grpc/transport/call.ts';
import { createLogger, silentLogger, type Logger } from '../../src/observability/logger.ts';
import { MetricsRegistry, type Metrics } from '../../src/observability/metrics/metrics.ts';
import { data, firstHeaders, frame as rawFrame, messageHead, nextHeaders, preface } from '../floods/raw-http2.ts';
import { RawClient } from './raw-client.ts';
import { turns } from '../support/event-loop.ts';

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Options = {
  readonly limits?: Partial<TransportLimits>;
  readonly interceptors?: readonly Interceptor[];
  readonly serving?: boolean;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
};

const row = { scope: 'none', access: 'none' } as const;
const testRpcs = rpcService('test.Service', { Echo: row, Planned: { ...row, missing: notYet } });

async function serve(
  handle: (request: Uint8Array, call: Call) => Uint8Array | Promise<Uint8Array>,
  options: Options = {},
): Promise<RunningListener> {
  const methods = new Map<string, Method>([['Echo', { kind: 'unary', handle }]]);
  const server = await listening('localhost', 0, [{ ...testRpcs, methods }], options);
  cleanups.push(() => server.stop(0));
  return server;
}

function listening(host: string, port: number, services: readonly Service[], options: Options = {}): Promise<RunningListener> {
  const { logger = silentLogger, interceptors = [], metrics, serving = true } = options;
  const gate = new Gate(interceptors, logger);
  return startListener(
    {
      ...({ role: 'frontend', host, port, services } as const),
      pages: [
        page('GET /health', () => healthAnswer({ status: serving ? 'SERVING' : 'NOT_SERVING' })),
        page('GET /health/live', () => healthAnswer({ status: 'SERVING' })),
      ],
      limits: { ...defaultTransportLimits, ...options.limits },
    },
    { gate, logger, ...(metrics === undefined ? {} : { metrics }), instance: 'this-process' },
  );
}

function clientOf(server: RunningListener, host = '127.0.0.1'): RawClient {
  const client = new RawClient(`${host}:${server.port}`);
  cleanups.push(() => client.close());
  return client;
}

/** A stream as a client sees it that is not a gRPC library. */
type Exchange = {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly resetCode: number;
};

function exchange(session: ClientHttp2Session, headers: Record<string, string>, body: Buffer | undefined): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const request = session.request({ ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc', ...headers });
    let answered: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    request.on('response', (received) => (answered = received));
    request.on('trailers', (received) => (trailers = received));
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', reject);
    request.on('close', () => resolve({ headers: answered, trailers, body: Buffer.concat(chunks), resetCode: request.rstCode ?? 0 }));
    request.end(body);
  });
}

function http2(server: RunningListener): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${server.port}`);
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A log in memory. */
function kept(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  return { logger: createLogger({ level: 'warn', format: 'json', write: (line) => void lines.push(line), nowMs: () => 0 }), lines };
}

function asker(): { connection: object; ended: boolean } {
  return { connection: {}, ended: false };
}

const echo = (request: Uint8Array): Uint8Array => request.slice();

test('localhost answers on IPv4 and on IPv6', async () => {
  const server = await serve(echo);
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    expect(await clientOf(server, host).call('/test.Service/Echo', Buffer.from(host))).toEqual(new Uint8Array(Buffer.from(host)));
  }
});

test('a busy port is an error that names it', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const start = listening('localhost', port, []);
  await expect(start).rejects.toMatchObject({
    message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
    cause: { code: 'EADDRINUSE' },
  });
});

test.each([
  ['/test.Service/Planned', 'Planned is not supported by this server yet'],
  ['/other.Service/Planned', 'unknown method Planned for service other.Service'],
  ['/test.Service/Nope', 'unknown method Nope for service test.Service'],
  ['/other.Service/Echo', 'unknown method Echo for service other.Service'],
  ['/lonely', 'unknown method lonely for service '],
])('%s is unimplemented, in words that tell a missing method from an unknown one', async (path, message) => {
  const error = await clientOf(await serve(echo)).refusal(path, new Uint8Array(10));
  expect([error.code, error.details]).toEqual([codes.UNIMPLEMENTED, message]);
});

test('a message of exactly the limit passes, one byte more does not', async () => {
  const client = clientOf(await serve((request) => Buffer.from(String(request.length)), { limits: { messageBytesMax: 70_000 } }));
  expect(Buffer.from(await client.call('/test.Service/Echo', Buffer.alloc(70_000))).toString()).toBe('70000');
  const error = await client.refusal('/test.Service/Echo', Buffer.alloc(70_001));
  expect([error.code, error.details]).toEqual([codes.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (70001 vs. 70000)']);
});

test('the default limit is 4 MiB', async () => {
  const client = clientOf(await serve(() => new Uint8Array(0)));
  await client.call('/test.Service/Echo', Buffer.alloc(4_194_304));
  const error = await client.refusal('/test.Service/Echo', Buffer.alloc(5_000_000));
  expect([error.code, error.details]).toEqual([codes.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (5000000 vs. 4194304)']);
});

test('a length beyond the limit is refused before the message is there', async () => {
  const server = await serve(echo);
  const session = http2(server);
  const request = session.request({ ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc' });
  request.on('error', () => {});
  request.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]));
  const headers = await new Promise<IncomingHttpHeaders>((resolve) => request.on('response', resolve));
  expect(headers['grpc-status']).toBe('8');
  expect(headers['grpc-message']).toBe('grpc: received message larger than max (4294967295 vs. 4194304)');
  request.destroy();
});

test('four KiB that stand for four MiB are not decompressed on the event loop', async () => {
  const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(5_000);
  const small = gzipSync(Buffer.alloc(1024 * 1024));
  expect(small.length).toBeLessThan(4 * 1024);
  expect(decompressed(small, 'gzip', 4 * 1024 * 1024, asker())).toBeInstanceOf(Promise);
  expect(decompressed(gzipSync(Buffer.from('small')), 'gzip', 4 * 1024 * 1024, asker())).toEqual(Buffer.from('small'));
});

test('many at a time are decompressed in turn, and a broken one takes nobody else along', async () => {
  const broken = Buffer.concat([gzipSync(Buffer.alloc(1024 * 1024)), Buffer.alloc(8 * 1024, 1)]).subarray(0, 900);
  const messages = Array.from({ length: 40 }, (_, at) =>
    at % 5 === 0 ? Buffer.concat([broken, Buffer.alloc(4 * 1024, 1)]) : gzipSync(Buffer.alloc(1024 * 1024, at)),
  );
  const settled = await Promise.allSettled(messages.map(async (message) => decompressed(message, 'gzip', 4 * 1024 * 1024, asker())));
  expect(settled.map(({ status }) => status)).toEqual(messages.map((_, at) => (at % 5 === 0 ? 'rejected' : 'fulfilled')));
  for (const [at, result] of settled.entries())
    if (result.status === 'fulfilled') expect([result.value.length, result.value[0]]).toEqual([1024 * 1024, at]);
});

test('one connection with many bombs delays the others by its share alone', async () => {
  const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024));
  const many = asker();
  let ended = 0;
  const bombs = Array.from({ length: 120 }, async () => {
    await decompressed(bomb, 'gzip', 4 * 1024 * 1024, many);
    ended++;
  });
  await decompressed(gzipSync(Buffer.alloc(100_000, 1)), 'gzip', 4 * 1024 * 1024, asker());
  expect(ended).toBeLessThan(40);
  await Promise.all(bombs);
});

test('what waits to be decompressed for a call that is over is left as it is', async () => {
  const connection = {};
  const calls = Array.from({ length: 60 }, () => ({ connection, ended: false }));
  const broken = Buffer.alloc(8 * 1024, 1);
  const outcomes = Promise.allSettled(calls.map(async (call) => decompressed(broken, 'gzip', 1024, call)));
  for (const call of calls) call.ended = true;
  const codesOf = (await outcomes).map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: number }).code);
  // The first few were on a thread already.
  expect(codesOf.indexOf(codes.CANCELLED)).toBeLessThan(10);
  expect(new Set(codesOf)).toEqual(new Set([codes.INTERNAL, codes.CANCELLED]));
  expect(await decompressed(gzipSync(Buffer.alloc(100_000, 1)), 'gzip', 4 * 1024 * 1024, asker())).toHaveLength(100_000);
});

test.each([100, 60_000])('a compressed request of %i bytes is read', async (size) => {
  const client = clientOf(await serve((request) => Buffer.from(`${request.length} ${request.every((byte) => byte === 7)}`)));
  const answer = await client.call('/test.Service/Echo', Buffer.alloc(size, 7), { gzip: true });
  expect(Buffer.from(answer).toString()).toBe(`${size} true`);
});

test.each([
  ['in the caller’s turn', 100_000],
  ['on a thread', 20_000_000],
])('a gzip bomb ends at the limit (%s)', async (_, size) => {
  const server = await serve(echo, { limits: { messageBytesMax: 50_000 } });
  const bomb = gzipSync(Buffer.alloc(size));
  const answer = await exchange(http2(server), { 'grpc-encoding': 'gzip' }, frame(bomb, 1));
  expect(answer.headers['grpc-status']).toBe('8');
  expect(answer.headers['grpc-message']).toBe('grpc: received message after decompression larger than max 50000');
});

test.each([
  ['deflate', frame(Buffer.from('x'), 1), '12', 'grpc: Decompressor is not installed for grpc-encoding "deflate"'],
  ['', frame(Buffer.from('x'), 1), '13', 'grpc: compressed flag set with identity or empty encoding'],
  ['gzip', frame(Buffer.from('not gzip'), 1), '13', 'grpc: failed to decompress the received message'],
  ['', frame(Buffer.from('x'), 9), '13', 'grpc: received unexpected payload format 9'],
  ['', undefined, '13', 'grpc: a unary request holds one message, none was received'],
  ['', frame(Buffer.from('xyz')).subarray(0, 6), '13', 'grpc: the request ended before its message was complete'],
  [
    '',
    Buffer.concat([frame(Buffer.from('x')), frame(Buffer.from('y'))]),
    '12',
    'grpc: a unary request holds one message, more were received',
  ],
])('a body that is no message is refused (encoding %j)', async (encoding, body, code, message) => {
  const answer = await exchange(http2(await serve(echo)), encoding === '' ? {} : { 'grpc-encoding': encoding }, body);
  expect([answer.headers['grpc-status'], decodeURIComponent(String(answer.headers['grpc-message']))]).toEqual([code, message]);
});

test('large answers are compressed for clients that accept it, and only for them', async () => {
  const server = await serve(() => Buffer.alloc(100_000, 3));
  const session = http2(server);
  const packed = await exchange(session, { 'grpc-accept-encoding': 'identity, gzip' }, frame(new Uint8Array(0)));
  expect([packed.headers['grpc-encoding'], packed.body[0], packed.trailers['grpc-status']]).toEqual(['gzip', 1, '0']);
  expect(packed.body.length).toBeLessThan(2_000);
  const plain = await exchange(session, {}, frame(new Uint8Array(0)));
  expect([plain.headers['grpc-encoding'], plain.body[0], plain.body.length]).toEqual([undefined, 0, 100_005]);
  // A real client undoes it again.
  expect(await clientOf(server).call('/test.Service/Echo', new Uint8Array(0))).toEqual(new Uint8Array(100_000).fill(3));
});

test('small answers are not compressed', async () => {
  const answer = await exchange(http2(await serve(echo)), { 'grpc-accept-encoding': 'gzip' }, frame(Buffer.from('hi')));
  expect([answer.headers['grpc-encoding'], answer.body]).toEqual([undefined, frame(Buffer.from('hi'))]);
});

test('the handler learns the deadline and is told when it passes', async () => {
  const seen = Promise.withResolvers<{ deadlineMs: number; handledMs: number; cancelled: boolean }>();
  const server = await serve((_request, call) => {
    const [handledMs, { deadlineMs }] = [performance.now(), call];
    return new Promise(() => call.onCancel(() => seen.resolve({ deadlineMs, handledMs, cancelled: call.cancelled })));
  });
  const sentMs = performance.now();
  // As a client that does not watch its own deadline.
  const answer = await exchange(http2(server), { 'grpc-timeout': '1000m' }, frame(new Uint8Array(0)));
  expect([answer.headers['grpc-status'], answer.headers['grpc-message']]).toEqual(['4', 'context deadline exceeded']);
  const { deadlineMs, handledMs, cancelled } = await seen.promise;
  expect(deadlineMs).toBeGreaterThanOrEqual(sentMs + 1_000);
  expect(deadlineMs).toBeLessThanOrEqual(handledMs + 1_000);
  expect(cancelled).toBe(true);
});

test.each([
  ['99999999H', true],
  ['5000000S', true],
  ['123456789m', false],
  ['10x', false],
])('grpc-timeout %s', async (timeout, valid) => {
  const answer = await exchange(http2(await serve(echo)), { 'grpc-timeout': timeout }, frame(Buffer.from('a')));
  if (valid) expect(answer.trailers['grpc-status']).toBe('0');
  else expect([answer.headers['grpc-status'], answer.headers['grpc-message']]).toEqual(['13', `malformed grpc-timeout: "${timeout}"`]);
});

test('a cancelled call tells its handler', async () => {
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<boolean>();
  const server = await serve((_request, call) => {
    call.onCancel(() => cancelled.resolve(call.cancelled));
    started.resolve();
    return new Promise(() => {});
  });
  const { answer, cancel } = clientOf(server).start('/test.Service/Echo', new Uint8Array(1));
  await started.promise;
  cancel();
  await expect(answer).rejects.toMatchObject({ code: codes.CANCELLED });
  expect(await cancelled.promise).toBe(true);
});

test('a lost connection tells its handlers', async () => {
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const server = await serve((_request, call) => {
    call.onCancel(() => cancelled.resolve());
    started.resolve();
    return new Promise(() => {});
  });
  const session = http2(server);
  const lost = exchange(session, {}, frame(new Uint8Array(0)));
  lost.catch(() => {});
  await started.promise;
  session.destroy();
  await cancelled.promise;
});

test('what a handler throws by mistake stays inside, and the server goes on', async () => {
  const logged: string[] = [];
  const logger: Logger = { ...silentLogger, error: (message, fields) => void logged.push(`${message}: ${String(fields?.['error'])}`) };
  let fault: 'throw' | 'reject' | 'none' = 'throw';
  const server = await serve(
    (request) => {
      if (fault === 'throw') throw new Error('password=hunter2');
      if (fault === 'reject') return Promise.reject(new Error('password=hunter2'));
      return echo(request);
    },
    { logger },
  );
  const client = clientOf(server);
  for (fault of ['throw', 'reject'] as const) {
    const error = await client.refusal('/test.Service/Echo', new Uint8Array(0));
    expect([error.code, error.details]).toEqual([codes.INTERNAL, 'internal server error']);
  }
  fault = 'none';
  expect(await client.call('/test.Service/Echo', Buffer.from('ok'))).toEqual(new Uint8Array(Buffer.from('ok')));
  expect(logged).toHaveLength(2);
  expect(logged[0]).toContain('hunter2');
});

test('texts of every kind arrive as they are', async () => {
  const { StatusError } = await import('../../src/grpc/errors/status-error.ts');
  const text = 'Namespace "größe 100%" \ud800 is not found.\r\nx';
  const server = await serve(() => {
    throw new StatusError(5, text);
  });
  const error = await clientOf(server).refusal('/test.Service/Echo', new Uint8Array(0));
  // A lone surrogate has no UTF-8; it becomes the replacement character.
  expect([error.code, error.details]).toEqual([codes.NOT_FOUND, text.replace('\ud800', '\ufffd')]);
});

test('a text over 4,000 bytes is cut', async () => {
  const { StatusError } = await import('../../src/grpc/errors/status-error.ts');
  const server = await serve(() => {
    throw new StatusError(3, 'a'.repeat(5_000));
  });
  const error = await clientOf(server).refusal('/test.Service/Echo', new Uint8Array(0));
  expect(error.details).toBe(`${'a'.repeat(4_000)}...`);
});

test('every call passes every interceptor, whatever becomes of it', async () => {
  const { StatusError } = await import('../../src/grpc/errors/status-error.ts');
  const log: string[] = [];
  const gate: Interceptor = {
    before: (call) => {
      log.push(`before ${call.rpc.method}`);
      if (call.header('client-name') === 'stranger') throw new StatusError(7, 'Request unauthorized.');
    },
    after: (call, outcome) => void log.push(`after ${call.rpc.method} ${outcome.code}`),
  };
  const server = await serve(echo, { interceptors: [gate] });
  const client = clientOf(server);
  await client.call('/test.Service/Echo', new Uint8Array(0), { metadata: { 'client-name': 'friend' } });
  const error = await client.refusal('/test.Service/Echo', new Uint8Array(0), { metadata: { 'client-name': 'stranger' } });
  expect([error.code, error.details]).toEqual([codes.PERMISSION_DENIED, 'Request unauthorized.']);
  await client.refusal('/test.Service/Nope', new Uint8Array(0));
  expect(log).toEqual(['before Echo', 'after Echo 0', 'before Echo', 'after Echo 7', 'after Nope 12']);
});

test('behind 1,050 calls that wait on its connection a call is answered at once', async () => {
  const server = await serve((_request, call) => (call.header('x-request-id') === '' ? new Uint8Array(1) : new Promise(() => {})));
  const session = http2(server);
  session.setMaxListeners(0);
  // Without its settings a client sends no more than a hundred.
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  for (let call = 0; call < 1_050; call++) {
    const waiting = session.request({
      ':method': 'POST',
      ':path': '/test.Service/Echo',
      'content-type': 'application/grpc',
      'x-request-id': 'wait',
    });
    waiting.on('error', () => {});
    waiting.end(frame(new Uint8Array(0)));
  }
  expect((await exchange(session, {}, frame(new Uint8Array(0)))).trailers['grpc-status']).toBe('0');
});

/** Cancelled when their method has them, as a client does that has waited long enough. */
test('a client that cancels 3,000 calls keeps its connection, and what else it carries', async () => {
  let begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<Uint8Array>();
  const server = await serve(
    (_request, call) => {
      if (call.header('x-request-id') === 'long') return held.promise;
      begun.resolve();
      return new Promise(() => {});
    },
    // The pace of this machine is no matter here.
    { limits: { reading: { ...defaultTransportLimits.reading, cancelledPerSecond: 1_000_000, cancelledPerSecondOfAddress: 1_000_000 } } },
  );
  const session = http2(server);
  const poll = exchange(session, { 'x-request-id': 'long' }, frame(new Uint8Array(0)));
  for (let call = 0; call < 3_000; call++) {
    begun = Promise.withResolvers();
    const request = session.request({ ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc' });
    request.on('error', () => {});
    request.end(frame(new Uint8Array(0)));
    await begun.promise;
    request.close(8);
  }
  held.resolve(new Uint8Array(0));
  expect((await poll).trailers['grpc-status']).toBe('0');
});

test('who cancels beyond his allowance is read later, and others are not', async () => {
  // The first that is too many has it wait for half a second, in which a busy machine gets to the other one.
  const reading = { ...defaultTransportLimits.reading, cancelledBurst: 20, cancelledPerSecond: 2 };
  let cancelled = 0;
  const server = await serve(
    (_request, call) => {
      if (call.header('x-request-id') === '') return new Uint8Array(0);
      call.onCancel(() => cancelled++);
      return new Promise(() => {});
    },
    { limits: { reading } },
  );
  const [flood, other] = [http2(server), http2(server)];
  flood.setMaxListeners(0);
  await exchange(other, {}, frame(new Uint8Array(0)));
  const requests = Array.from({ length: 35 }, () => {
    const request = flood.request({
      ':method': 'POST',
      ':path': '/test.Service/Echo',
      'content-type': 'application/grpc',
      'x-request-id': 'wait',
    });
    request.on('error', () => {});
    request.end(frame(new Uint8Array(0)));
    return request;
  });
  await exchange(flood, {}, frame(new Uint8Array(0)));
  for (const request of requests) request.close(8);
  while (cancelled < requests.length) await turns();
  const slow = exchange(flood, {}, frame(new Uint8Array(0)));
  const order: string[] = [];
  const both = [slow.then(() => order.push('flood')), exchange(other, {}, frame(new Uint8Array(0))).then(() => order.push('other'))];
  await Promise.all(both);
  expect(order).toEqual(['other', 'flood']);
  expect(flood.destroyed).toBe(false);
});

test('calls that are started and cancelled together are never started, and many of them end their connection', async () => {
  let begun = 0;
  const server = await serve(() => (begun++, new Uint8Array(0)));
  const flood = await rawSocket(server);
  flood.write(await rapidResets(2_000));
  await closed(flood);
  expect(begun).toBe(0);
  expect((await exchange(http2(server), {}, frame(new Uint8Array(0)))).trailers['grpc-status']).toBe('0');
  // To connect again is no way around: the debt is of the address.
  const again = await Promise.all(Array.from({ length: 4 }, () => rawSocket(server)));
  const order: string[] = [];
  const ended = again.map(async (socket) => {
    socket.write(await rapidResets(2_000));
    await closed(socket);
    order.push('flood');
  });
  expect((await fetch(`http://127.0.0.1:${server.port}/health/live`)).status).toBe(200);
  order.push('live');
  await Promise.all(ended);
  expect(order.indexOf('live')).toBeLessThan(4);
  expect(begun).toBe(1);
});

test('calls that were cancelled with one breath are open no longer: an idle connection is closed', async () => {
  const server = await serve(echo, { limits: { pingIntervalMs: 20, idleTimeoutMs: 30, pingTimeoutMs: 60_000 } });
  const client = await rawSocket(server);
  const goaway = new Promise<void>((resolve) => {
    let received = Buffer.alloc(0);
    client.on('data', (data) => {
      received = Buffer.concat([received, data]);
      while (received.length >= 9) {
        const end = 9 + received.readUIntBE(0, 3);
        if (received.length < end) return;
        const [type, flags] = [received[3], received[4]];
        if (type === 7) resolve();
        if (type === 6 && flags === 0) client.write(Buffer.concat([Buffer.from([0, 0, 8, 6, 1, 0, 0, 0, 0]), received.subarray(9, end)]));
        received = received.subarray(end);
      }
    });
  });
  client.write(await rapidResets(20));
  await goaway;
  client.destroy();
});

async function rapidResets(calls: number): Promise<Buffer> {
  const { data, firstHeaders, nextHeaders, preface, reset } = await import('../floods/raw-http2.ts');
  const all = Array.from({ length: calls }, (_, index) => {
    const stream = 2 * index + 1;
    const headers = index === 0 ? firstHeaders(stream, '/test.Service/Echo') : nextHeaders(stream);
    return Buffer.concat([headers, data(stream, frame(new Uint8Array(0)), true), reset(stream)]);
  });
  return Buffer.concat([preface, ...all]);
}

test('a connection whose request comes in thousands of pieces of a byte is ended', async () => {
  const server = await serve((request) => Buffer.from(String(request.length)));
  const { data, firstHeaders, messageHead, preface } = await import('../floods/raw-http2.ts');
  const flood = await rawSocket(server);
  const pieces = Array.from({ length: 5_000 }, () => data(1, Buffer.from([0])));
  flood.write(Buffer.concat([preface, firstHeaders(1, '/test.Service/Echo'), data(1, messageHead(60_000)), ...pieces]));
  await closed(flood);
});

test.each([
  ['a large request in pieces of 100 bytes', 1, 60_000, 100],
  ['many small requests in pieces of 10 bytes', 400, 30, 10],
])('%s is answered', async (_what, calls, bytes, pieceBytes) => {
  const server = await serve((request) => Buffer.from(String(request.length)));
  const { data, firstHeaders, nextHeaders, preface } = await import('../floods/raw-http2.ts');
  const client = await rawSocket(server);
  const streams = Array.from({ length: calls }, (_, index) => {
    const stream = 2 * index + 1;
    const message = frame(new Uint8Array(bytes));
    const pieces = Array.from({ length: Math.ceil(message.length / pieceBytes) }, (__, at) => {
      const piece = message.subarray(at * pieceBytes, (at + 1) * pieceBytes);
      return data(stream, piece, (at + 1) * pieceBytes >= message.length);
    });
    return Buffer.concat([index === 0 ? firstHeaders(stream, '/test.Service/Echo') : nextHeaders(stream), ...pieces]);
  });
  const answers: Buffer[] = [];
  client.on('data', (chunk) => answers.push(chunk));
  client.write(Buffer.concat([preface, ...streams]));
  // Each answer has its length as its text.
  const count = (): number => Buffer.concat(answers).toString('latin1').split(String(bytes)).length - 1;
  while (count() < calls && !client.destroyed) await turns();
  expect(count()).toBe(calls);
});

test('a connection carries 1,000 calls at a time', async () => {
  const all = Promise.withResolvers<void>();
  let open = 0;
  const server = await serve(async () => {
    open++;
    if (open === 1_000) all.resolve();
    await all.promise;
    return new Uint8Array(0);
  });
  const session = http2(server);
  session.setMaxListeners(0);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => exchange(session, {}, frame(new Uint8Array(0)))));
  expect(answers.every((answer) => answer.trailers['grpc-status'] === '0')).toBe(true);
});

test('900 calls cancelled at once leave the connection as it was', async () => {
  const server = await serve(
    (_request, call) => new Promise((resolve) => (call.header('x-request-id') === '' ? resolve(new Uint8Array(0)) : undefined)),
  );
  const session = http2(server);
  session.setMaxListeners(0);
  const requests = Array.from({ length: 900 }, () => {
    const request = session.request({
      ':method': 'POST',
      ':path': '/test.Service/Echo',
      'content-type': 'application/grpc',
      'x-request-id': 'wait',
    });
    request.on('error', () => {});
    request.end(frame(new Uint8Array(0)));
    return request;
  });
  await exchange(session, {}, frame(new Uint8Array(0)));
  await Promise.all(requests.map((request) => new Promise<void>((resolve) => (request.once('close', resolve), request.close(8)))));
  const after = await exchange(session, {}, frame(new Uint8Array(0)));
  expect(after.trailers['grpc-status']).toBe('0');
});

test('pings on an idle connection are answered, however many', async () => {
  const session = http2(await serve(echo));
  let goaway: number | undefined;
  session.on('goaway', (code) => (goaway = code));
  await exchange(session, {}, frame(new Uint8Array(0)));
  for (let i = 0; i < 50; i++)
    await new Promise<void>((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))));
  expect(goaway).toBeUndefined();
  expect((await exchange(session, {}, frame(new Uint8Array(0)))).trailers['grpc-status']).toBe('0');
});

test('an idle connection is closed with a GOAWAY, a silent one is cut', async () => {
  const server = await serve(echo, { limits: { pingIntervalMs: 20, idleTimeoutMs: 30, pingTimeoutMs: 20 } });
  const session = http2(server);
  const goaway = new Promise<number>((resolve) => session.on('goaway', resolve));
  expect(await goaway).toBe(0);
  const mute = await rawSocket(server);
  mute.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  mute.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  await closed(mute);
});

test.each(['/nothing', '/test.Service/Echo'])('HTTP/2 that is not gRPC is answered in terms of HTTP (%s)', async (path) => {
  const session = http2(await serve(echo));
  expect((await exchange(session, { ':path': path, 'content-type': 'text/plain' }, Buffer.from('x'))).headers[':status']).toBe(415);
  expect((await exchange(session, { ':path': path, ':method': 'GET' }, undefined)).headers[':status']).toBe(405);
});

test('GET /health over HTTP/1.1', async () => {
  for (const serving of [true, false]) {
    const base = `http://127.0.0.1:${(await serve(echo, { serving })).port}`;
    const health = await fetch(`${base}/health`);
    expect(health.headers.get('perdure-instance'), 'who answers').toBe('this-process');
    expect([health.status, await health.json()]).toEqual(serving ? [200, { status: 'SERVING' }] : [503, { status: 'NOT_SERVING' }]);
    expect(health.headers.get('content-type')).toBe('application/json');
    expect(health.headers.get('cache-control')).toBe('no-store');
    const live = await fetch(`${base}/health/live`);
    expect([live.status, await live.json()]).toEqual([200, { status: 'SERVING' }]);
    const head = await fetch(`${base}/health`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([serving ? 200 : 503, '']);
    expect((await fetch(`${base}/health`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${base}/else`)).status).toBe(404);
  }
});

test('the protocol is recognised however slowly it comes', async () => {
  const socket = await rawSocket(await serve(echo));
  for (const char of 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n') {
    socket.write(char);
    await turns();
  }
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
  expect(answer).toContain('HTTP/1.1 200 OK');
});

test('a connection has one page, whatever it sends behind its request', async () => {
  const asked: string[] = [];
  const server = await serve(echo, { interceptors: [{ before: ({ rpc }) => void asked.push(rpc.method) }] });
  const socket = await rawSocket(server);
  let answers = '';
  socket.on('data', (data) => (answers += data.toString()));
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(50));
  await closed(socket);
  expect(answers.split('HTTP/1.1 200 OK')).toHaveLength(2);
  expect(asked).toHaveLength(1);
});

test('a head over 8 KiB is refused', async () => {
  const socket = await rawSocket(await serve(echo));
  socket.write(`GET /health HTTP/1.1\r\nx: ${'a'.repeat(9_000)}\r\n\r\n`);
  await closed(socket);
});

test('sockets that say nothing sensible, or nothing, are closed', async () => {
  const server = await serve(echo, { limits: { firstBytesTimeoutMs: 50 } });
  const tls = await rawSocket(server);
  tls.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
  await closed(tls);
  await closed(await rawSocket(server));
  const half = await rawSocket(server);
  half.write('PRI * HT');
  await closed(half);
});

test('HTTP/1 has a time for a request and its answer, and a client that sends a byte now and then has no more', async () => {
  const socket = await rawSocket(await serve(echo, { limits: { plainRequestTimeoutMs: 200 } }));
  // Without it bytes wait for each other's acknowledgement, long enough to look idle.
  socket.setNoDelay(true);
  socket.write('GET /health HTTP/1.1\r\n');
  const dripping = setInterval(() => void socket.write('a'), 5);
  cleanups.push(() => clearInterval(dripping));
  await closed(socket);
});

/** Longer than any test: only the limit under test ends something. */
const never = 3_600_000;

test.each([
  ['HTTP/1 requests that never end', { plainConnectionsMax: 2, plainRequestTimeoutMs: never }, 'GET /health HTTP/1.1\r\n'],
  ['connections that say nothing', { undecidedConnectionsMax: 2, firstBytesTimeoutMs: never }, ''],
] as const)('%s are closed, the oldest first, when there are too many', async (_what, limits, said) => {
  const server = await serve(echo, { limits });
  const open: Socket[] = [];
  for (let count = 0; count < 5; count++) {
    const socket = await rawSocket(server);
    if (said !== '') socket.write(said);
    open.push(socket);
    if (open.length > 2) await closed(open.shift()!);
  }
  const answer = await fetch(`http://127.0.0.1:${server.port}/health`);
  expect(answer.status).toBe(200);
});

test('an HTTP/2 client that never sends its settings is closed; one that has sent them stays', async () => {
  const server = await serve(echo, { limits: { firstBytesTimeoutMs: 50 } });
  const session = http2(server);
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  const silent = await rawSocket(server);
  silent.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  silent.resume();
  await closed(silent);
  expect((await exchange(session, {}, frame(Buffer.from('hi')))).trailers['grpc-status']).toBe('0');
});

test.each(['', '99999999S'])('a request that does not come to its end is given up (grpc-timeout %j)', async (timeout) => {
  const session = http2(await serve(echo, { limits: { requestTimeoutMs: 50 } }));
  const headers = { ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc' };
  const request = session.request(timeout === '' ? headers : { ...headers, 'grpc-timeout': timeout });
  request.on('error', () => {});
  const gone = new Promise((resolve) => request.once('close', resolve));
  request.write(Buffer.from([0, 0, 0, 0, 9, 1]));
  const answer = await new Promise<IncomingHttpHeaders>((resolve) => request.on('response', resolve));
  expect([answer['grpc-status'], answer['grpc-message']]).toEqual(['4', 'the request was not received in time']);
  request.resume();
  await gone;
});

test('a call whose request is here has until its deadline', async () => {
  const server = await serve(() => new Promise(() => {}), { limits: { requestTimeoutMs: 20 } });
  const beganMs = performance.now();
  const answer = await exchange(http2(server), { 'grpc-timeout': '200m' }, frame(new Uint8Array(0)));
  expect([answer.headers['grpc-status'], answer.headers['grpc-message']]).toEqual(['4', 'context deadline exceeded']);
  expect(performance.now() - beganMs).toBeGreaterThan(150);
});

test('what is not gRPC and never ends is given up too', async () => {
  const session = http2(await serve(echo, { limits: { requestTimeoutMs: 50 } }));
  for (const headers of [{ ':method': 'POST' }, { ':method': 'PUT' }]) {
    const request = session.request({ ':path': '/', 'content-type': 'text/plain', ...headers });
    request.on('error', () => {});
    request.resume();
    request.write('x');
    await new Promise((resolve) => request.once('close', resolve));
  }
});

test('calls that wait count as kept, by their number and not by headers that nobody reads', async () => {
  const server = await serve(() => new Promise(() => {}), { limits: { keptBytesMax: 1024 * 1024 } });
  const other = http2(server);
  const greedy = http2(server);
  greedy.setMaxListeners(0);
  const cut = new Promise<void>((resolve) => void greedy.once('close', resolve));
  for (const session of [other, greedy]) await new Promise((resolve) => session.once('remoteSettings', resolve));
  // 14 KB each, of which nothing is kept.
  for (let call = 0; call < 100; call++) beginEndless(other, call % 2 === 0);
  await new Promise<void>((resolve, reject) => other.ping((error) => (error === null ? resolve() : reject(error))));
  expect(other.destroyed).toBe(false);
  for (let call = 0; call < 300; call++) beginEndless(greedy, call % 2 === 0);
  await cut;
  expect(other.destroyed).toBe(false);
});

function beginEndless(session: ClientHttp2Session, isWhole: boolean): void {
  const request = session.request({
    ':method': 'POST',
    ':path': '/test.Service/Echo',
    'content-type': 'application/grpc',
    'grpc-timeout': '99999999S',
    large: 'x'.repeat(14_000),
  });
  request.on('error', () => {});
  if (isWhole) request.end(frame(new Uint8Array(0)));
}

test('of a header that is read no more is kept than anybody reads', async () => {
  const seen: string[] = [];
  const server = await serve((_request, call) => (seen.push(call.header('client-name'), call.header('x-request-id')), new Uint8Array(0)));
  await exchange(http2(server), { 'client-name': 'n'.repeat(10_000), 'x-request-id': 'r'.repeat(500) }, frame(new Uint8Array(0)));
  expect(seen).toEqual(['n'.repeat(512), 'r'.repeat(500)]);
});

test.each([
  ['connections_of_address', 'perdure.transport.connectionsPerAddressMax', { connectionsPerAddressMax: 2 }],
  ['connections', 'perdure.transport.connectionsMax', { connectionsMax: 2 }],
] as const)('beyond the limit of %s clients are refused, that is logged, and health is still answered', async (limit, key, limits) => {
  const metrics = new MetricsRegistry();
  const { logger, lines } = kept();
  const server = await serve(echo, { limits, logger, metrics: metrics.of('frontend') });
  const [first] = await Promise.all(
    [http2(server), http2(server)].map(async (session) => (await exchange(session, {}, frame(new Uint8Array(0))), session)),
  );
  for (let refused = 0; refused < 3; refused++) {
    const session = http2(server);
    await new Promise<void>((resolve) => void session.once('close', resolve));
  }
  for (const page of ['health', 'health/live']) expect((await fetch(`http://127.0.0.1:${server.port}/${page}`)).status).toBe(200);
  expect(metrics.of('frontend').counter('perdure_grpc_limit_hits', { limit }).value).toBe(3);
  expect(
    lines.filter((line) => line.includes('a connection was refused')).map((line) => [line.includes(key), line.includes('"limit":2')]),
  ).toEqual([[true, true]]);
  const gone = new Promise<void>((resolve) => void first?.once('close', resolve));
  first?.destroy();
  await gone;
  // The server learns of it in its own time.
  let answered = false;
  while (!answered)
    answered = await exchange(http2(server), {}, frame(new Uint8Array(0))).then(
      () => true,
      () => false,
    );
});

test('a connection that has as many calls as it may is told to operators, and its next call waits', async () => {
  const metrics = new MetricsRegistry();
  const { logger, lines } = kept();
  const release = Promise.withResolvers<void>();
  const server = await serve(
    async (_request, call) => {
      if (call.header('x-request-id') !== '') await release.promise;
      return new Uint8Array(0);
    },
    { limits: { concurrentStreamsMax: 3 }, logger, metrics: metrics.of('frontend') },
  );
  const session = http2(server);
  await exchange(session, {}, frame(new Uint8Array(0)));
  const waiting = [1, 2, 3].map(() => exchange(session, { 'x-request-id': 'yes' }, frame(new Uint8Array(0))));
  const next = exchange(session, {}, frame(new Uint8Array(0)));
  while (lines.length === 0) await turns();
  expect(lines.map((line) => line.includes('perdure.transport.callsPerConnectionMax'))).toEqual([true]);
  expect(metrics.of('frontend').counter('perdure_grpc_limit_hits', { limit: 'calls_of_connection' }).value).toBe(1);
  release.resolve();
  const all = await Promise.all([...waiting, next]);
  expect(all.map(({ trailers }) => trailers['grpc-status'])).toEqual(['0', '0', '0', '0']);
});

test('stop lets open calls end and then closes the port', async () => {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const server = await serve(async () => {
    started.resolve();
    await release.promise;
    return Buffer.from('done');
  });
  const answer = clientOf(server).call('/test.Service/Echo', new Uint8Array(0));
  await started.promise;
  const stopped = server.stop(10_000);
  release.resolve();
  expect(Buffer.from(await answer).toString()).toBe('done');
  await stopped;
  await expect(rawSocket(server)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('stop cuts what does not end in time', async () => {
  const started = Promise.withResolvers<void>();
  const server = await serve(() => (started.resolve(), new Promise(() => {})));
  const answer = clientOf(server).call('/test.Service/Echo', new Uint8Array(0));
  answer.catch(() => {});
  await started.promise;
  await server.stop(20);
  await expect(answer).rejects.toMatchObject({ code: expect.any(Number) as number });
});

test('stop cuts whoever neither reads nor closes', async () => {
  const { data, firstHeaders, messageHead, preface } = await import('../floods/raw-http2.ts');
  const started = Promise.withResolvers<void>();
  const server = await serve(() => (started.resolve(), new Promise(() => {})));
  const socket = await rawSocket(server);
  socket.pause();
  socket.write(Buffer.concat([preface, firstHeaders(1, '/test.Service/Echo'), data(1, messageHead(0), true)]));
  await started.promise;
  await server.stop(20);
});

async function rawSocket(server: RunningListener): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  cleanups.push(() => void socket.destroy());
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return socket;
}

function closed(socket: Socket): Promise<void> {
  socket.resume();
  return new Promise((resolve) => (socket.destroyed ? resolve() : void socket.once('close', () => resolve())));
}

test('who asks for much and reads nothing is cut, and nobody else notices', async () => {
  const answer = new Uint8Array(1024 * 1024);
  const server = await serve(() => answer, { limits: { keptBytesMax: 10 * 1024 * 1024 } });
  const client = clientOf(server);
  const slow = http2(server);
  const cut = new Promise<void>((resolve) => void slow.once('close', resolve));
  await new Promise((resolve) => slow.once('connect', resolve));
  for (let call = 0; call < 7; call++) askWithoutReading(slow);
  await slowAnswers(slow);
  for (let call = 0; call < 20; call++) expect(await client.call('/test.Service/Echo', new Uint8Array(1))).toHaveLength(answer.length);
  expect(slow.destroyed).toBe(false);
  for (let call = 0; call < 4; call++) askWithoutReading(slow);
  await cut;
  expect(await client.call('/test.Service/Echo', new Uint8Array(1))).toHaveLength(answer.length);
});

test('who stops reading with answers under way makes room for another connection', async () => {
  const limits = { connectionsPerAddressMax: 1, pingIntervalMs: 50, pingTimeoutMs: 50 };
  const server = await serve(() => new Uint8Array(1_000_000), { limits });
  const mute = await rawSocket(server);
  const largeWindow = Buffer.from([0, 4, 0x3f, 0xff, 0xff, 0xff]);
  mute.write(Buffer.concat([preface, rawFrame(4, 0, 0, largeWindow), rawFrame(8, 0, 0, Buffer.from([0x3f, 0, 0, 0]))]));
  for (let stream = 1; stream < 100; stream += 2) {
    mute.write(
      Buffer.concat([stream === 1 ? firstHeaders(1, '/test.Service/Echo') : nextHeaders(stream), data(stream, messageHead(0), true)]),
    );
  }
  for (;;) {
    const session = http2(server);
    const isLetIn = new Promise<boolean>((resolve) => {
      session.once('remoteSettings', () => resolve(true));
      session.once('close', () => resolve(false));
    });
    if (await isLetIn) break;
  }
});

test('answers that wait to be compressed count as kept', async () => {
  const answer = new Uint8Array(1024 * 1024);
  const server = await serve(() => answer, { limits: { keptBytesMax: 10 * 1024 * 1024 } });
  const greedy = http2(server);
  const cut = new Promise<void>((resolve) => void greedy.once('close', resolve));
  for (let call = 0; call < 200; call++) {
    const request = greedy.request({
      ':method': 'POST',
      ':path': '/test.Service/Echo',
      'content-type': 'application/grpc',
      'grpc-accept-encoding': 'gzip',
    });
    request.on('error', () => {});
    request.resume();
    request.end(frame(new Uint8Array(1)));
  }
  await cut;
  const client = clientOf(server);
  for (let call = 0; call < 30; call++) expect(await client.call('/test.Service/Echo', new Uint8Array(1))).toHaveLength(answer.length);
});

test('a request that comes byte by byte keeps nothing of the network’s memory', () => {
  const body = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 251));
  for (const chunkBytes of [1, 3, 7, 999, 1004]) {
    const reader = new MessageReader(2000);
    const network = Buffer.alloc(2000);
    const sent = frame(body);
    for (let at = 0; at < sent.length; at += chunkBytes) {
      const chunk = sent.subarray(at, at + chunkBytes);
      chunk.copy(network);
      reader.add(network.subarray(0, chunk.length));
    }
    expect(reader.finish()).toEqual({ compressed: false, message: body });
  }
});

test('who sends requests by halves is cut, and nobody else notices', async () => {
  const server = await serve(echo, { limits: { keptBytesMax: 10 * 1024 * 1024 } });
  const client = clientOf(server);
  const slow = http2(server);
  const cut = new Promise<void>((resolve) => void slow.once('close', resolve));
  const half = frame(new Uint8Array(3 * 1024 * 1024)).subarray(0, 2 * 1024 * 1024);
  for (let call = 0; call < 6; call++) {
    const request = slow.request({ ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc' });
    request.on('error', () => {});
    request.write(half);
  }
  await cut;
  const whole = new Uint8Array(3 * 1024 * 1024);
  for (let call = 0; call < 10; call++) expect(await client.call('/test.Service/Echo', whole)).toHaveLength(whole.length);
});

function askWithoutReading(session: ClientHttp2Session): void {
  const request = session.request({ ':method': 'POST', ':path': '/test.Service/Echo', 'content-type': 'application/grpc' });
  request.on('error', () => {});
  request.end(frame(new Uint8Array(1)));
}

/** All requests before this are answered: frames of one connection are dealt with in order. */
function slowAnswers(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => void session.ping((error) => (error === null ? resolve() : reject(error))));
}
