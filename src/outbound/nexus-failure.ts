/**
 * A failure as the body of a completion callback: a Nexus Failure in JSON, in which Temporal's servers and SDKs find theirs again.
 *
 *     { "message": …, "stackTrace": …, "metadata": {"type": "temporal.api.failure.v1.Failure"}, "details": the rest of it, "cause": … }
 *
 * Whoever reads one takes the cause from `cause`: so it stands there alone, and not in the details as well.
 */

export type NexusFailure = {
  readonly message: string;
  readonly stackTrace?: string;
  readonly metadata: { readonly type: string };
  readonly details: Fields;
  readonly cause?: NexusFailure;
};

type Fields = Readonly<Record<string, unknown>>;

/** `failure`: temporal.api.failure.v1.Failure. Reads what JSON needs of it when the first one is sent. */
export async function nexusFailure(failure: Uint8Array): Promise<NexusFailure> {
  const { loadPublicMessages } = await import('../wire/services.ts');
  const { Failure } = (await loadPublicMessages()).failure.v1;
  const plain = Failure.toObject(Failure.decode(failure), { longs: String, enums: String, bytes: String });
  return fromPlain(plain);
}

function fromPlain({ message, stackTrace, cause, ...rest }: Fields): NexusFailure {
  return {
    message: typeof message === 'string' ? message : '',
    ...(typeof stackTrace === 'string' && stackTrace !== '' ? { stackTrace } : {}),
    ...said(rest),
    ...(isFields(cause) ? { cause: fromPlain(cause) } : {}),
  };
}

/** What a handler of another operation said is told on as Nexus has it. */
function said(rest: Fields): Pick<NexusFailure, 'metadata' | 'details'> {
  const handler = rest['nexusHandlerFailureInfo'];
  if (!isFields(handler)) return { metadata: { type: 'temporal.api.failure.v1.Failure' }, details: withDurations(rest) };
  const retryable = overrides.get(String(handler['retryBehavior']));
  const attributes = rest['encodedAttributes'];
  return {
    metadata: { type: 'nexus.HandlerError' },
    details: {
      ...(handler['type'] === undefined ? {} : { type: handler['type'] }),
      ...(retryable === undefined ? {} : { retryableOverride: retryable }),
      ...(isFields(attributes) ? { encodedAttributes: Buffer.from(JSON.stringify(attributes)).toString('base64url') } : {}),
    },
  };
}

const overrides: ReadonlyMap<string, boolean> = new Map([
  ['NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR_RETRYABLE', true],
  ['NEXUS_HANDLER_ERROR_RETRY_BEHAVIOR_NON_RETRYABLE', false],
]);

/** The one duration that a failure may hold: JSON has it as a text, `1.5s`. */
function withDurations(rest: Fields): Fields {
  const info = rest['applicationFailureInfo'];
  if (!isFields(info) || !isFields(info['nextRetryDelay'])) return rest;
  const { seconds = '0', nanos = 0 } = info['nextRetryDelay'];
  const digits = String(Math.abs(Number(nanos)));
  const fraction = digits === '0' ? '' : `.${digits.padStart(9, '0').replace(/0+$/, '')}`;
  // Where the seconds are 0, their sign is that of the fraction.
  const sign = Number(nanos) < 0 && Number(seconds) === 0 ? '-' : '';
  return { ...rest, applicationFailureInfo: { ...info, nextRetryDelay: `${sign}${String(seconds)}${fraction}s` } };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
