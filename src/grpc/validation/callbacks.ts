/** Completion callbacks of a start or an update: as Temporal checks them, and what its HTTP client would choke on at each attempt. */
import { addressProblem, type AddressRule, callbackUrl, systemUrls } from '../../kernel/callback-address.ts';
import { type CallbackNexus, decodeCallback, encodeCallback } from '../../wire/generated/lean/callback.ts';
import { invalidArgument, notBuilt, statusCode, StatusError } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';
import { checkLinks } from './start.ts';

/** Not by `import`, which costs each start 20 ms (transport/plain-http.ts). */
const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');

export type CallbackLimits = {
  readonly allowedAddresses: readonly AddressRule[];
  readonly callbacksMax: number;
  readonly updateCallbacksMax: number;
  readonly urlBytesMax: number;
  readonly headerBytesMax: number;
};

/** One request may bring as many bytes of callbacks as a run may have (`callbackBytesPerRunMax`). */
const callbackBytesMax = 1024 * 1024;

export type CallbacksAndLinks = {
  /** The names of their headers are in lower case. */
  readonly callbacks: readonly Uint8Array[];
  readonly links: readonly Uint8Array[];
};

/** `links`: of the request. What a callback brings along need not stand in the event twice. */
export function callbacksAndLinks(
  completionCallbacks: readonly Uint8Array[],
  links: readonly Uint8Array[],
  limits: CallbackLimits,
): CallbacksAndLinks {
  const { callbacks, links: ofCallbacks } = checkCallbacks(completionCallbacks, limits);
  const others = links.filter((link) => !ofCallbacks.some((other) => Buffer.compare(link, other) === 0));
  if (ofCallbacks.length > 0) checkLinks([...others, ...ofCallbacks]);
  return { callbacks, links: others };
}

/** `links`: those that they bring along. */
function checkCallbacks(callbacks: readonly Uint8Array[], limits: CallbackLimits): CallbacksAndLinks {
  const { callbacksMax } = limits;
  if (callbacks.length > callbacksMax) throw invalidArgument(`cannot attach more than ${callbacksMax} callbacks to an execution`);
  if (callbacks.reduce((sum, callback) => sum + callback.length, 0) > callbackBytesMax) {
    throw invalidArgument(`cannot attach more than ${callbackBytesMax} bytes of callbacks to an execution`);
  }
  const links: Uint8Array[] = [];
  const checked = callbacks.map((bytes) => {
    checkOpaque(bytes, 'callback');
    const callback = decodeCallback(bytes);
    if (callback.nexus === undefined) throw new StatusError(statusCode.unimplemented, 'unknown callback variant: <nil>');
    links.push(...callback.links);
    return encodeCallback({ nexus: checkNexus(callback.nexus, limits), links: callback.links });
  });
  return { callbacks: checked, links };
}

function checkNexus({ url, header }: CallbackNexus, { urlBytesMax, headerBytesMax, allowedAddresses }: CallbackLimits): CallbackNexus {
  if (Buffer.byteLength(url) > urlBytesMax)
    throw invalidArgument(`invalid url: url length longer than max length allowed of ${urlBytesMax}`);
  // They lead into Temporal's own server: to operations of Nexus, which there are none of here.
  if (systemUrls.includes(url)) throw notBuilt(`completion_callbacks to ${url}`);
  const address = callbackUrl(url);
  if (typeof address === 'string') throw invalidArgument(address);
  const problem = addressProblem(address, allowedAddresses);
  if (problem !== undefined) throw invalidArgument(problem);
  const lowered = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of header) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    checkHeader(name, value);
    lowered.set(name.toLowerCase(), value);
  }
  if (bytes > headerBytesMax) throw invalidArgument(`invalid header: header size longer than max allowed size of ${headerBytesMax}`);
  return { url, header: lowered };
}

/** A header that cannot be sent would fail at each attempt, for ever. */
function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw invalidArgument(`invalid header: ${JSON.stringify(name.slice(0, 100))} or its value is not allowed in an HTTP request`);
  }
}
