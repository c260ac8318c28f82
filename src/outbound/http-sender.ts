/**
 * One POST to an address that somebody else has chosen. So nothing of it is trusted:
 *
 *     the address   public unless a rule says otherwise: looked at after its name is resolved, where the connection is made, so that no second
 *                   look at the name may find another
 *     the answer    16 KiB of headers, 64 KiB of a body; redirects are answers like others
 *     its time      one deadline for all of it: resolving, connecting, sending, reading
 *
 * A connection is used once: the next request's address is looked at again. Proxies of the environment are not used.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import type { CallbackUrl } from '../kernel/callback-address.ts';
import { asError, errorCode } from '../kernel/error-text.ts';
import { type DeliveryOutcome, outcomeOf, outcomeOfStatus } from './completion-answer.ts';
import { Lookups } from './lookups.ts';
import { isPublicAddress } from './public-addresses.ts';

/** Not by `import`, which costs each start 20 ms: its module form reads every name, and two of them load Node's fetch. */
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');
const { Agent: HttpsAgent, request: httpsRequest } = process.getBuiltinModule('node:https');

const senderLimits = {
  answerHeaderBytesMax: 16 * 1024,
  answerBodyBytesMax: 64 * 1024,
  /** The row of its run keeps it: and where the name does not fit, it lists all the names of a stranger's certificate. */
  errorMessageCharsMax: 1_000,
} as const;

export type Post = {
  /** Who asks. */
  readonly namespaceId: string;
  readonly address: CallbackUrl;
  /** Names in lower case; several values of one name are sent one by one. */
  readonly headers: ReadonlyMap<string, string | readonly string[]>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
};

/** The type of a refusal without a call. */
export const PRIVATE_ADDRESS = 'PrivateAddress';

class PrivateAddress extends Error {
  override readonly name = PRIVATE_ADDRESS;
}

export class HttpSender {
  readonly #lookups: Lookups;
  readonly #agents = { http: new HttpAgent({ keepAlive: false }), https: new HttpsAgent({ keepAlive: false }) };

  constructor(lookups = new Lookups()) {
    this.#lookups = lookups;
  }

  /** Answers once, in a later turn; but not any more once it is told to give up, by what this returns. */
  post(post: Post, answer: (outcome: DeliveryOutcome) => void): () => void {
    const { address, body, timeoutMs } = post;
    let request: ClientRequest | undefined;
    let leave = (): void => {};
    const lookup = this.#lookup(post, (asked) => (leave = asked));
    const settle = (outcome: DeliveryOutcome | undefined): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      request?.destroy();
      leave();
      if (outcome !== undefined) answer(outcome);
    };
    // What becomes of the connection after it has begun says nothing of the request: it was taken, or was not.
    let begun: IncomingMessage | undefined;
    const broken = (error: Error): void => {
      if (begun === undefined) settle(failed(error));
    };
    let timer: NodeJS.Timeout | undefined = setTimeout(() => {
      const said = begun === undefined ? undefined : outcomeOfStatus(statusOf(begun));
      settle(said ?? { kind: 'failed', errorType: 'RequestTimeout', message: `no answer within ${timeoutMs} ms` });
    }, timeoutMs);
    try {
      request = address.isSecure ? httpsRequest(this.#options(post, lookup)) : httpRequest(this.#options(post, lookup));
      request.on('response', (response) => readAnswer((begun = response), settle));
      request.on('error', broken);
      request.on('close', () => broken(new Error('the connection was closed without an answer')));
      request.end(body);
    } catch (error) {
      // A header that cannot be sent, an address that nobody may call.
      setImmediate(() => settle(failed(error)));
    }
    return () => settle(undefined);
  }

  #options({ address, headers, body, allowPrivate }: Post, lookup: LookupFunction): RequestOptions {
    const { hostname, port, isSecure, url } = address;
    const { pathname, search, username, password } = new URL(url);
    // An address needs no resolving, so nobody else looks at it.
    if (isIP(hostname) !== 0 && !allowPrivate && !isPublicAddress(hostname)) throw new PrivateAddress(notPublic(hostname));
    return {
      method: 'POST',
      agent: isSecure ? this.#agents.https : this.#agents.http,
      hostname,
      port,
      path: `${pathname}${search}`,
      ...(username === '' && password === '' ? {} : { auth: `${decoded(username)}:${decoded(password)}` }),
      headers: { ...Object.fromEntries(headers), 'content-length': body.length },
      lookup,
      maxHeaderSize: senderLimits.answerHeaderBytesMax,
    };
  }

  /** `asked` is given what takes the question back. */
  #lookup({ namespaceId, allowPrivate }: Post, asked: (leave: () => void) => void): LookupFunction {
    return (hostname, { all }, callback) => {
      const leave = this.#lookups.addressesOf(namespaceId, hostname, (answer) => {
        if ('error' in answer) return callback(answer.error, []);
        const allowed = allowPrivate ? answer.addresses : answer.addresses.filter(({ address }) => isPublicAddress(address));
        const [first] = allowed;
        if (first === undefined) callback(new PrivateAddress(notPublic(hostname)), []);
        else if (all === true) callback(null, [...allowed]);
        else callback(null, first.address, first.family);
      });
      asked(leave);
    };
  }
}

/** A text that is not encoded as UTF-8 stays as it stands: it would fail at each attempt otherwise. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function notPublic(hostname: string): string {
  return `${hostname} is not a public address, and its rule does not say AllowPrivate`;
}

function statusOf({ statusCode = 0 }: IncomingMessage): number {
  return statusCode;
}

function readAnswer(response: IncomingMessage, settle: (outcome: DeliveryOutcome) => void): void {
  const { headers } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const answered = (): void => {
    const contentType = headers['content-type'] ?? '';
    const { 'nexus-request-retryable': retryable = '' } = headers;
    const body = Buffer.concat(chunks).toString('utf8');
    settle(outcomeOf({ status: statusOf(response), contentType, retryable: String(retryable), body }));
  };
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= senderLimits.answerBodyBytesMax) chunks.push(chunk);
    else answered();
  });
  // Its status says it all, or what has come of the rest.
  response.on('error', answered);
  response.on('end', answered);
}

/** Shortages of file descriptors, ports and memory: they say nothing of the destination. */
const ownShortages: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']);

function failed(thrown: unknown): DeliveryOutcome {
  const error = asError(thrown);
  if (error instanceof PrivateAddress) return { kind: 'refused', errorType: error.name, message: error.message };
  const code = errorCode(error) ?? error.name;
  const message = error.message.slice(0, senderLimits.errorMessageCharsMax);
  return { kind: isOwnShortage(error) ? 'full' : 'failed', errorType: code, message: message === '' ? code : message };
}

/** Each of several addresses that were tried has to say so: the code of them all is that of the first. */
function isOwnShortage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOwnShortage);
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return false;
  // Without IPv6 on this machine, each destination has this code that has such addresses alone, and for ever.
  if (code === 'EADDRNOTAVAIL' && 'address' in error && isIP(String(error.address)) === 6) return false;
  return ownShortages.has(code);
}
