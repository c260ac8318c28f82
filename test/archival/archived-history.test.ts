/** Histories as JSON: all that the descriptors have comes back, and times are where the list says. */
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { loadPublicApi } from '../../scripts/generate/public-api.ts';
import { durationFields, loadHistoryJson, mapFields, timestampFields } from '../../src/archival/archived-history.ts';
import { loadPublicMessages } from '../../src/wire/services.ts';

test('fields that are times, durations, or maps are known by names that no other field has', () => {
  const found = {
    '.google.protobuf.Timestamp': new Set<string>(),
    '.google.protobuf.Duration': new Set<string>(),
    other: new Set<string>(),
  };
  const maps = new Set<string>();
  const seen = new Set<protobuf.Type>();
  const walk = (type: protobuf.Type): void => {
    if (seen.has(type)) return;
    seen.add(type);
    for (const field of type.fieldsArray) {
      const name = camel(field.name);
      const { resolvedType } = field.resolve();
      const kind = resolvedType?.fullName;
      if (field instanceof protobuf.MapField) maps.add(name);
      if (kind === '.google.protobuf.Timestamp' || kind === '.google.protobuf.Duration') found[kind].add(name);
      else if (resolvedType instanceof protobuf.Type) walk(resolvedType);
      else found.other.add(name);
    }
  };
  walk(loadPublicApi().lookupType('temporal.api.history.v1.HistoryEvent'));
  expect(new Set(timestampFields)).toEqual(found['.google.protobuf.Timestamp']);
  expect(new Set(durationFields)).toEqual(found['.google.protobuf.Duration']);
  expect(new Set(mapFields)).toEqual(maps);
  const ofSuchNames = [...seen]
    .flatMap((type) => type.fieldsArray)
    .filter((field) => maps.has(camel(field.name)) && !(field instanceof protobuf.MapField));
  const times = ofSuchNames.flatMap(({ resolvedType }) => (resolvedType instanceof protobuf.Type ? resolvedType.fieldsArray : []));
  expect(times.filter(({ resolvedType }) => resolvedType?.fullName.startsWith('.google.protobuf.') === true)).toEqual([]);
  expect([...timestampFields, ...durationFields].filter((name) => found.other.has(name))).toEqual([]);
});

test('what an event holds comes back, and stands there as Temporal writes it', async () => {
  const { HistoryEvent } = (await loadPublicMessages()).history.v1;
  const payload = { metadata: { encoding: Buffer.from('json/plain'), eventTime: Buffer.from('123s') }, data: Buffer.from('"10s"') };
  const event = HistoryEvent.fromObject({
    eventId: '9007199254740993',
    eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
    eventTime: { seconds: 1_770_000_000, nanos: 5_000_000 },
    workflowExecutionStartedEventAttributes: {
      workflowType: { name: 'T' },
      identity: '2026-01-01T00:00:00Z',
      workflowRunTimeout: { seconds: 10, nanos: 500_000_000 },
      workflowTaskTimeout: {},
      header: { fields: { eventTime: payload } },
      memo: { fields: { duration: payload } },
    },
  });
  const json = await loadHistoryJson();
  const bytes = HistoryEvent.encode(event).finish();
  const batch = json.batch([bytes, bytes]);
  expect(json.events(batch).map((each) => Buffer.from(each).toString('hex'))).toEqual(
    [bytes, bytes].map((each) => Buffer.from(each).toString('hex')),
  );
  expect(JSON.parse(batch)).toMatchObject({
    events: [
      {
        eventId: '9007199254740993',
        eventTime: '2026-02-02T02:40:00.005Z',
        eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
        workflowExecutionStartedEventAttributes: {
          workflowRunTimeout: '10.500s',
          workflowTaskTimeout: '0s',
          identity: '2026-01-01T00:00:00Z',
        },
      },
      {},
    ],
  });
  expect(() => json.events('{}')).toThrow('a batch of an archived history has no events');
});

function camel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
