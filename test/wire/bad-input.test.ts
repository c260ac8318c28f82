/** Whatever arrives, a codec answers with a message or throws WireError. It never hangs, crashes otherwise or shares memory. */
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { decodeWorkflowExecution, encodeWorkflowExecution, type WorkflowExecution } from '../../src/wire/generated/lean/common.ts';
import { decodeStartTimerCommandAttributes, emptyCommand } from '../../src/wire/generated/lean/command.ts';
import { decodeFailure } from '../../src/wire/generated/lean/failure.ts';
import {
  decodeGetWorkflowExecutionHistoryResponse,
  decodeRespondWorkflowTaskCompletedRequest,
  emptyRespondWorkflowTaskCompletedRequest,
  encodeRespondWorkflowTaskCompletedRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { decodeAny, decodeStatus, encodeAny } from '../../src/wire/generated/lean/error_details.ts';
import { WireError, WireLimitError } from '../../src/wire/wire-error.ts';
import { ownLimits, type WireLimits } from '../../src/wire/wire-limits.ts';
import fc from 'fast-check';
import { arbitraryMessage } from './arbitrary.ts';
import { leanCodec, leanCodecs } from './codecs.ts';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';

const root = loadPublicApi();
const hotMessages = [
  ['StartWorkflowExecutionRequest', 'temporal.api.workflowservice.v1.StartWorkflowExecutionRequest'],
  ['RespondWorkflowTaskCompletedRequest', 'temporal.api.workflowservice.v1.RespondWorkflowTaskCompletedRequest'],
  ['PollWorkflowTaskQueueResponse', 'temporal.api.workflowservice.v1.PollWorkflowTaskQueueResponse'],
  ['HistoryEvent', 'temporal.api.history.v1.HistoryEvent'],
  ['Failure', 'temporal.api.failure.v1.Failure'],
] as const;

describe('cut off at every byte', () => {
  test.each(hotMessages)('%s', (name, fullName) => {
    const type = root.lookupType(fullName);
    const codec = leanCodec(name);
    for (const message of fc.sample(arbitraryMessage(type), { numRuns: 10, seed: 3 })) {
      const bytes = type.encode(type.fromObject(message)).finish();
      const whole = fieldEnds(bytes);
      for (let length = 0; length < bytes.length; length++) {
        const decode = (): unknown => codec.decode(bytes.subarray(0, length));
        if (whole.has(length)) decode();
        else expect(decode, `the first ${length} of ${bytes.length} bytes`).toThrow(WireError);
      }
    }
  });
});

/** Where the fields of the outermost message end: a message that stops there is a smaller message, not a broken one. */
function fieldEnds(bytes: Uint8Array): ReadonlySet<number> {
  const reader = protobuf.Reader.create(bytes);
  const ends = new Set([0]);
  while (reader.pos < reader.len) {
    reader.skipType(reader.uint32() & 7);
    ends.add(reader.pos);
  }
  return ends;
}

test('random bytes give a message or a WireError', () => {
  let refused = 0;
  const decodeAll = (bytes: Uint8Array): void => {
    for (const codec of leanCodecs) {
      try {
        codec.decode(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
        refused++;
      }
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), decodeAll), { numRuns: 300, seed: 11 });
  expect(refused).toBeGreaterThan(1000);
});

test('a message with one byte changed gives a message or a WireError', () => {
  for (const [name, fullName] of hotMessages) {
    const type = root.lookupType(fullName);
    const codec = leanCodec(name);
    fc.assert(
      fc.property(arbitraryMessage(type), fc.nat(), fc.integer({ min: 1, max: 255 }), (message, at, change) => {
        const bytes = Uint8Array.from(type.encode(type.fromObject(message)).finish());
        if (bytes.length > 0) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ change;
        try {
          codec.decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 100, seed: 5 },
    );
  }
});

describe('malformed input is named', () => {
  const workflowId = 10;
  test.each([
    ['a string longer than the rest', [workflowId, 5, 97], 'needs 5 bytes, 1 are left'],
    ['a length beyond 32 bits', [workflowId, 255, 255, 255, 255, 255, 1], 'larger than 32 bits'],
    ['bytes that are no UTF-8', [workflowId, 2, 0xc3, 0x28], 'not valid UTF-8'],
    ['half of a surrogate pair', [workflowId, 3, 0xed, 0xa0, 0x80], 'not valid UTF-8'],
    ['field number 0', [2, 0], 'field number 0'],
    ['wire type 6', [14, 0], 'wire type 6'],
    ['wire type 7', [31], 'wire type 7'],
    ['the end of a group that never began', [28], 'wire type 4'],
    ['a group that is closed as another', [27, 36], 'closed as group 4'],
    ['a group that is never closed', [27], 'cut off'],
    ['a number of eleven bytes', [24, ...Array<number>(10).fill(255), 1], 'longer than 64 bits'],
    ['a number of ten bytes and 65 bits', [24, ...Array<number>(9).fill(255), 2], 'longer than 64 bits'],
    ['a cut off fixed field', [29, 1, 2, 3], 'cut off'],
  ])('%s', (_what, bytes, message) => {
    const decode = (): WorkflowExecution => decodeWorkflowExecution(Uint8Array.from(bytes));
    expect(decode).toThrow(WireError);
    expect(decode).toThrow(message);
  });

  test('unknown fields of every wire type are skipped', () => {
    const known = [10, 1, 97];
    const unknown = [24, 1, 25, 1, 2, 3, 4, 5, 6, 7, 8, 26, 1, 0, 27, 24, 1, 28, 29, 1, 2, 3, 4];
    expect(decodeWorkflowExecution(Uint8Array.from([...unknown, ...known, ...unknown]))).toEqual({ workflowId: 'a', runId: '' });
  });

  test('a known field with another wire type is skipped', () => {
    expect(decodeWorkflowExecution(Uint8Array.from([8, 1, 18, 1, 98]))).toEqual({ workflowId: '', runId: 'b' });
  });

  test('a nested message cannot read past its own end', () => {
    // Failure{application_failure_info: 3 bytes, whose type claims 2 bytes of which only 1 belongs to it}.
    expect(() => decodeFailure(Uint8Array.from([42, 3, 10, 2, 97, 98]))).toThrow('needs 2 bytes, 1 are left');
  });
});

describe('limits', () => {
  const narrow: WireLimits = { nestingDepthMax: 3, repeatedElementsMax: 100, nestedMessagesMax: 1000, durationMsMax: 5000 };

  test('messages may be nested as deep as the limit and no deeper', () => {
    // RespondWorkflowTaskCompletedRequest › commands › start_timer_command_attributes › start_to_fire_timeout
    const command = { ...emptyCommand(), startTimerCommandAttributes: { timerId: 't', startToFireTimeoutMs: 1 } };
    const bytes = encodeRespondWorkflowTaskCompletedRequest({ ...emptyRespondWorkflowTaskCompletedRequest(), commands: [command] });
    const decoded = (nestingDepthMax: number): unknown =>
      decodeRespondWorkflowTaskCompletedRequest(bytes, { ...narrow, nestingDepthMax }).commands;
    expect(decoded(4)).toEqual([command]);
    expect(() => decoded(3)).toThrow('messages are nested deeper than 3 levels');
  });

  test('groups count as nesting', () => {
    expect(() => decodeFailure(new Uint8Array(10_000).fill(243))).toThrow(WireError);
    const groups = [...Array<number>(5000).fill(27), ...Array<number>(5000).fill(28)];
    expect(() => decodeFailure(Uint8Array.from(groups))).toThrow('nested deeper');
  });

  const details = (count: number): Uint8Array => new Uint8Array(2 * count).map((_, index) => (index % 2 === 0 ? 26 : 0));

  test('a list may have as many elements as the limit and no more', () => {
    expect(decodeStatus(details(100), narrow).details).toHaveLength(100);
    expect(() => decodeStatus(details(101), narrow)).toThrow(new WireLimitError('Status.details holds more than 100 elements'));
  });

  test('a message may hold many small messages, not any number of them', () => {
    const attributes = [18, 0, 26, 0, 34, 0, 42, 0, 50, 0, 58, 0, 66, 0, 74, 0, 82, 0, 90, 0, 98, 0, 106, 0, 114, 0, 122, 0, 138, 1, 0];
    const commands = (count: number): Uint8Array => Buffer.concat(Array<Uint8Array>(count).fill(Uint8Array.from([18, 31, ...attributes])));
    expect(() => decodeRespondWorkflowTaskCompletedRequest(commands(60), narrow)).not.toThrow();
    expect(() => decodeRespondWorkflowTaskCompletedRequest(commands(64), narrow)).toThrow(
      new WireLimitError('it holds more than 1000 nested messages'),
    );
  });

  test('of what we wrote ourselves, any number of elements can be read', () => {
    expect(decodeStatus(details(300_000), ownLimits).details).toHaveLength(300_000);
  });

  test.each([
    ['2^63 - 1 seconds', [8, ...Array<number>(8).fill(255), 127], 5000],
    ['-2^63 seconds', [8, ...Array<number>(9).fill(128), 1], -5000],
    ['just the limit', [8, 5], 5000],
    ['a nanosecond more', [8, 5, 16, 1], 5000],
    ['a nanosecond', [16, 1], 1],
    ['a nanosecond less than nothing', [16, ...Array<number>(9).fill(255), 1], -1],
    ['nanoseconds of two seconds', [16, 128, 168, 214, 185, 7], 2000],
  ])('a duration of %s', (_what, duration, ms) => {
    const bytes = Uint8Array.from([18, duration.length, ...duration]);
    expect(decodeStartTimerCommandAttributes(bytes, narrow).startToFireTimeoutMs).toBe(ms);
  });

  test('a duration whose parts have different signs is refused by name', () => {
    const duration = [8, 1, 16, ...Array<number>(9).fill(255), 1];
    expect(() => decodeStartTimerCommandAttributes(Uint8Array.from([18, duration.length, ...duration]))).toThrow(
      'StartTimerCommandAttributes.start_to_fire_timeout: duration has seconds and nanos with different signs',
    );
  });

  test('whole numbers outside ±2^53 are refused', () => {
    const startedEventId = [40];
    expect(() =>
      leanCodec('PollWorkflowTaskQueueResponse').decode(Uint8Array.from([...startedEventId, ...Array<number>(8).fill(255), 127])),
    ).toThrow('PollWorkflowTaskQueueResponse.started_event_id is outside ±2^53');
  });
});

describe('decoded bytes are copies', () => {
  test.each([0, 1, 64, 65, 3000])('%i bytes', (length) => {
    const original = new Uint8Array(length).fill(7);
    const received = Buffer.from(encodeAny({ typeUrl: 'x', value: original }));
    const { value } = decodeAny(received);
    received.fill(0);
    expect(value).toStrictEqual(original);
    expect(value.buffer.byteLength).toBe(length);
  });

  test('encoded messages do not share the buffer they were written in', () => {
    const first = encodeWorkflowExecution({ workflowId: 'first', runId: '' });
    const copy = Uint8Array.from(first);
    encodeWorkflowExecution({ workflowId: 'other', runId: '' });
    expect(first).toStrictEqual(copy);
    expect(first.buffer.byteLength).toBe(first.length);
  });

  test('events of a history page are copies too', () => {
    const received = Buffer.from([10, 4, 10, 2, 8, 1]);
    const page = decodeGetWorkflowExecutionHistoryResponse(received);
    received.fill(0);
    expect(page.history?.events).toStrictEqual([Uint8Array.from([8, 1])]);
  });
});
