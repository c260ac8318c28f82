/**
 * The list of hot messages against the public API. What a message gains must be decided about, in scripts/generate/hot-messages.ts: at run
 * time nothing would fail, a worker would merely not see a field, or a request would be obeyed in part.
 */
import proto from '@temporalio/proto';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { eventKinds } from '../../scripts/generate/emit-events.ts';
import { emitOpaqueShapes } from '../../scripts/generate/emit-opaque-shapes.ts';
import { leanSchema } from '../../scripts/generate/lean-schema.ts';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';
import { localName } from './upstream.ts';

const start = 'temporal.api.workflowservice.v1.StartWorkflowExecutionRequest';
const activityScheduled = 'temporal.api.history.v1.ActivityTaskScheduledEventAttributes';
const lean = leanSchema(loadPublicApi());

function apiWith(message: string, field: protobuf.Field): protobuf.Root {
  const api = loadPublicApi();
  api.lookupType(message).add(field);
  api.resolveAll();
  return api;
}

describe('nothing is generated before somebody has decided about', () => {
  test.each<[string, string, protobuf.Field, string]>([
    ['a number in a request', start, new protobuf.Field('patience', 99, 'int32'), `${start}: .* says nothing of 99 patience`],
    [
      'a message that would be passed on',
      start,
      new protobuf.Field('extra_memo', 99, 'temporal.api.common.v1.Memo'),
      `${start}: .* says nothing of 99 extra_memo`,
    ],
    [
      'a field of an event',
      activityScheduled,
      new protobuf.Field('mood', 15, 'string'),
      `${activityScheduled}: .* says nothing of 15 mood`,
    ],
    [
      'a kind of event',
      'temporal.api.history.v1.HistoryEvent',
      new protobuf.Field('workflow_slept_event_attributes', 66, activityScheduled),
      'HistoryEvent: .* says nothing of 66 workflow_slept_event_attributes',
    ],
    [
      'a command',
      'temporal.api.command.v1.Command',
      new protobuf.Field('sleep_command_attributes', 20, start),
      'Command: .* says nothing of 20 sleep_command_attributes',
    ],
  ])('%s that the public API gained', (_what, message, field, refusal) => {
    expect(() => leanSchema(apiWith(message, field))).toThrow(new RegExp(refusal));
  });

  test('a field that the public API lost', () => {
    const api = loadPublicApi();
    const type = api.lookupType(start);
    type.remove(type.fields['links'] as protobuf.Field);
    expect(() => leanSchema(api)).toThrow(/StartWorkflowExecutionRequest: .* lists 24; there is no such field/);
  });

  test('an opaque kind whose messages no longer look alike', () => {
    const api = apiWith('temporal.api.common.v1.Header', new protobuf.Field('version', 2, 'int32'));
    expect(() => emitOpaqueShapes(api)).toThrow('temporal.api.common.v1.Memo and temporal.api.common.v1.Header');
  });
});

test('an opaque kind gets the field that its message gained, without a word', () => {
  const api = apiWith('temporal.api.sdk.v1.UserMetadata', new protobuf.Field('icon', 3, 'bytes'));
  expect(emitOpaqueShapes(api)).toContain("const sdkV1UserMetadata: OpaqueShape = { 1: commonV1Payload, 2: commonV1Payload, 3: 'bytes' };");
});

/** Both packages are of one release, but they are published apart. */
test('what SDK workers send with has the same fields', () => {
  const reflection: unknown = proto;
  const root = reflection as protobuf.Root;
  root.resolveAll();
  const theirs = leanSchema(root);
  const numbers = ({ modules }: typeof lean): unknown =>
    modules.map(({ messages }) => messages.map(({ name, fields }) => [name, fields.map(({ number, value }) => [number, value])]));
  expect(numbers(theirs)).toEqual(numbers(lean));
});

test('an opaque field without a list or a oneof keeps its presence', () => {
  const lost = lean.modules.flatMap(({ messages }) =>
    messages.flatMap(({ fields }) =>
      fields.filter(({ value, cardinality }) => value.kind === 'scalar' && value.scalar === 'bytes' && cardinality === 'implicit'),
    ),
  );
  expect(lost.map(({ path }) => path).toSorted()).toEqual(plainBytes());
});

/** The fields of hot messages that are bytes in the public API as well. */
function plainBytes(): string[] {
  const api = loadPublicApi();
  return [...lean.declared.keys()]
    .map((name) => api.lookup(name))
    .filter((type) => type instanceof protobuf.Type)
    .flatMap((type) =>
      type.fieldsArray
        .filter((field) => field.type === 'bytes' && !field.repeated && !(field instanceof protobuf.MapField) && field.partOf === null)
        .map((field) => `${localName(type).replaceAll('.', '')}.${field.name}`),
    )
    .toSorted();
}

test('an event kind has the number of its name', () => {
  const kinds = new Map(eventKinds(lean.modules).map(({ name, eventType, field }) => [name, [eventType, field]]));
  expect(kinds.size).toBeGreaterThanOrEqual(42);
  // The first, the last, and one whose two numbers do not follow each other.
  expect(kinds.get('workflowExecutionStarted')).toEqual([1, 6]);
  expect(kinds.get('timerStarted')).toEqual([17, 20]);
  expect(kinds.get('workflowExecutionOptionsUpdated')).toEqual([55, 60]);
});
