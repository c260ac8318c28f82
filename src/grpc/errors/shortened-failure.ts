import { cutToUtf8Bytes } from '../../kernel/utf8.ts';
import * as wire from '../../wire/generated/lean/failure.ts';

/**
 * A failure in at most `bytesMax`, by giving up what says least about it:
 *
 *     the end of its stack trace,
 *     the stack traces of its causes,
 *     its details and encoded attributes, its causes, the end of its message.
 *
 * Its type, and whether it may be retried, stay.
 */
export function shortenedFailure(encoded: Uint8Array, bytesMax: number): Uint8Array {
  if (encoded.length <= bytesMax) return encoded;
  const failure = decoded(encoded);
  if (failure === undefined) return nothing;
  return (
    withStackTraceCut(failure, bytesMax) ??
    withCausesCut(failure, bytesMax) ??
    withStackTraceCut({ ...kernelOf(failure, bytesMax), cause: shortenedCause(failure, bytesMax / 4) }, bytesMax) ??
    nothing
  );
}

function decoded(encoded: Uint8Array): wire.Failure | undefined {
  try {
    return wire.decodeFailure(encoded);
  } catch {
    return undefined;
  }
}

const nothing = new Uint8Array(0);

/** undefined: what remains without causes and a stack trace is too large already. */
function withCausesCut(failure: wire.Failure, bytesMax: number): Uint8Array | undefined {
  if (bytesAtLeast({ ...failure, cause: undefined }) > bytesMax) return undefined;
  return withStackTraceCut({ ...failure, cause: shortenedCause(failure, bytesMax / 2) }, bytesMax);
}

/** Without its stack trace: a failure may have two MiB, and is not encoded to find out that it does not fit. */
function bytesAtLeast({ message, source, cause, encodedAttributes, applicationFailureInfo: info }: wire.Failure): number {
  const opaque = [cause, encodedAttributes, info?.details].reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
  return message.length + source.length + (info?.type.length ?? 0) + opaque;
}

/** undefined: what remains without a stack trace is too large already. */
function withStackTraceCut(failure: wire.Failure, bytesMax: number): Uint8Array | undefined {
  if (bytesAtLeast(failure) > bytesMax) return undefined;
  const room = bytesMax - wire.encodeFailure({ ...failure, stackTrace: '' }).length - fieldHeadBytes - ellipsis.length;
  if (room < 0) return undefined;
  const cut = cutToUtf8Bytes(failure.stackTrace, room);
  return wire.encodeFailure({ ...failure, stackTrace: cut === failure.stackTrace ? cut : `${cut}${ellipsis}` });
}

function shortenedCause({ cause }: wire.Failure, bytesMax: number): Uint8Array | undefined {
  return cause === undefined || bytesMax < causeBytesMin ? undefined : shortenedFailure(cause, Math.floor(bytesMax));
}

function kernelOf({ message, source, stackTrace, applicationFailureInfo: info }: wire.Failure, bytesMax: number): wire.Failure {
  const part = Math.floor(bytesMax / 8);
  return {
    ...wire.emptyFailure(),
    message: cut(message, part * 2),
    source: cut(source, Math.min(part, 64)),
    stackTrace,
    applicationFailureInfo: info && shortInfo(info, part),
  };
}

function shortInfo(
  { type, nonRetryable, nextRetryDelayMs, category }: wire.ApplicationFailureInfo,
  bytesMax: number,
): wire.ApplicationFailureInfo {
  return { type: cutToUtf8Bytes(type, bytesMax), nonRetryable, details: undefined, nextRetryDelayMs, category };
}

function cut(text: string, bytesMax: number): string {
  const fits = cutToUtf8Bytes(text, bytesMax);
  return fits === text ? text : `${fits}${ellipsis}`;
}

const ellipsis = '...';
/** Tag and length. */
const fieldHeadBytes = 6;
const causeBytesMin = 256;
