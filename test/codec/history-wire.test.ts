import { describe, expect, test } from 'vitest';
import { checkOpaque } from '../../src/grpc/validation/opaque.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { decodeFailure, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';

const { failureCausesMax } = defaultHistoryLimits;

/** `levels` failures, each the cause of the one before. */
function nested(levels: number): Uint8Array {
  let bytes: Uint8Array | undefined;
  for (let level = levels; level > 0; level--) bytes = wrap(`failure ${level}`, bytes);
  return bytes ?? new Uint8Array(0);
}

function wrap(message: string, cause: Uint8Array | undefined): Uint8Array {
  return encodeFailure({ ...emptyFailure(), message, stackTrace: `at ${message}`, cause });
}

function messages(bytes: Uint8Array): readonly string[] {
  const found: string[] = [];
  for (let at: Uint8Array | undefined = bytes; at !== undefined;) {
    const { message, cause } = decodeFailure(at);
    found.push(message);
    at = cause;
  }
  return found;
}

describe('causes of a failure', () => {
  test.each([1, 2, 5])('%s levels stay as they are', (levels) => {
    const bytes = nested(levels);
    expect(historyWire.limitCauses(bytes, 4)).toBe(bytes);
  });

  test('what is deeper is cut off, and the last says so', () => {
    const bytes = historyWire.limitCauses(nested(10), 4);
    expect(messages(bytes)).toEqual([
      'failure 1',
      'failure 2',
      'failure 3',
      'failure 4',
      '6 more causes were cut off: failures are kept with at most 4 of them.',
    ]);
    expect(decodeFailure(bytes).stackTrace, 'all else stays').toBe('at failure 1');
  });

  test('what is no failure stays as it is', () => {
    const bytes = new TextEncoder().encode('failure');
    expect(historyWire.limitCauses(bytes, 4)).toBe(bytes);
  });

  test('the deepest that a request may carry can be wrapped many times more', () => {
    let bytes = nested(76);
    expect(() => checkOpaque(bytes, 'failure')).not.toThrow();
    for (let generation = 0; generation < 500; generation++) {
      bytes = wrap('child failed', historyWire.limitCauses(bytes, failureCausesMax));
      expect(() => checkOpaque(bytes, 'failure')).not.toThrow();
    }
    expect(messages(bytes).at(0)).toBe('child failed');
    expect(messages(bytes)).toHaveLength(failureCausesMax + 2);
  });
});
