/** The codec of events against the public API's own: what is written around the attributes, and which attributes belong to which kind. */
import { withoutZeros } from '../wire/without-zeros.ts';
import fc from 'fast-check';
import type protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';
import { eventTypeNumber } from '../../src/history/generated/public-api.ts';
import { decodeEvent, encodeEvent } from '../../src/codec/event-codec.ts';
import { arbitraryMessage } from '../wire/arbitrary.ts';

const api = loadPublicApi();
const historyEvent = api.lookupType('temporal.api.history.v1.HistoryEvent');
const attributeFields = historyEvent.oneofs['attributes']?.fieldsArray ?? [];
const eventTypes = api.lookupEnum('temporal.api.enums.v1.EventType').values;

/** `timerStarted` → timer_started */
function snakeCase(kind: string): string {
  return kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function attributesOf(kind: string): protobuf.Field {
  const field = historyEvent.fields[`${snakeCase(kind)}_event_attributes`];
  if (field === undefined) throw new Error(`the public API has no attributes of ${kind}`);
  return field;
}

/** Everything but the attributes. No server that we know writes a principal, and ours does not keep one. */
const head = arbitraryMessage(historyEvent).map((event) => {
  const left = { ...event };
  for (const { name } of attributeFields) delete left[name];
  delete left['principal'];
  return left;
});

function encoded(event: Record<string, unknown>): Uint8Array {
  return historyEvent.encode(historyEvent.fromObject(event)).finish();
}

function meaning(bytes: Uint8Array): unknown {
  return historyEvent.toObject(historyEvent.decode(bytes), { longs: String, bytes: String, enums: String });
}

describe('passes through without loss', () => {
  test.each(Object.keys(eventTypeNumber))('%s', (kind) => {
    const { name, resolvedType } = attributesOf(kind);
    fc.assert(
      fc.property(head, arbitraryMessage(resolvedType as protobuf.Type), (event, attributes) => {
        const theirs = encoded({ ...event, event_type: eventTypes[`EVENT_TYPE_${snakeCase(kind).toUpperCase()}`], [name]: attributes });
        expect(withoutZeros(meaning(encodeEvent(decodeEvent(theirs))))).toEqual(withoutZeros(meaning(theirs)));
      }),
      { numRuns: 10 },
    );
  });
});

test.each([
  ['attributes of another kind', { event_type: 17, timer_fired_event_attributes: {} }, 'event 7 has type 17 and timerFired attributes'],
  ['a kind that is not produced', { event_type: 48, nexus_operation_scheduled_event_attributes: {} }, 'no known attributes'],
  ['no attributes', { event_type: 17 }, 'event 7 has type 17 and no known attributes'],
])('%s are refused', (_what, event, problem) => {
  expect(() => decodeEvent(encoded({ event_id: 7, ...event }))).toThrow(problem);
});
