/**
 * Events of a history as Temporal archives them: proto JSON, batch by batch. Its classes are loaded with the first batch.
 *
 *     [⏎{"events":[…]},⏎{"events":[…]}⏎]        one batch a line, which is ours; where the lines end means nothing to others
 *
 * What the classes make of times and durations is their parts; which fields are such is known by their names, and a test holds that list.
 */
import { words } from '../kernel/words.ts';
import { loadPublicMessages, type PublicMessages } from '../wire/services.ts';

export type HistoryJson = {
  batch(events: readonly Uint8Array[]): string;
  /** Throws on what is none. */
  events(batch: string): readonly Uint8Array[];
};

export const timestampFields: ReadonlySet<string> = new Set(
  words('eventTime workflowExecutionExpirationTime createTime expireTime fastForwardTargetTime targetTime wallClockTime').all,
);
export const durationFields: ReadonlySet<string> = new Set(
  words(
    'workflowExecutionTimeout workflowRunTimeout workflowTaskTimeout nextRetryDelay initialInterval maximumInterval',
    'firstWorkflowTaskBackoff duration initialSkippedDuration startToCloseTimeout scheduleToCloseTimeout scheduleToStartTimeout',
    'heartbeatTimeout startToFireTimeout backoffStartInterval newWorkflowTaskTimeout newWorkflowRunTimeout',
    'newWorkflowExecutionTimeout',
  ).all,
);
/** Their keys are anybody's. Messages that have such a name elsewhere hold neither times nor durations themselves. */
export const mapFields: ReadonlySet<string> = new Set(['details', 'fields', 'header', 'indexedFields', 'metadata', 'nexusHeader']);

export async function loadHistoryJson(): Promise<HistoryJson> {
  const { history } = await loadPublicMessages();
  return historyJsonOf(history.v1);
}

function historyJsonOf({ HistoryEvent }: PublicMessages['history']['v1']): HistoryJson {
  const options = { longs: String, enums: String, bytes: String, json: true };
  return {
    batch: (events) =>
      JSON.stringify({ events: events.map((bytes) => asJson(HistoryEvent.toObject(HistoryEvent.decode(bytes), options))) }),
    events: (batch) => {
      const { events } = JSON.parse(batch) as { readonly events?: readonly object[] };
      if (!Array.isArray(events) || events.length === 0) throw new Error('a batch of an archived history has no events');
      return (events as readonly object[]).map((event) => HistoryEvent.encode(HistoryEvent.fromObject(asParts(event) as object)).finish());
    },
  };
}

type Parts = { readonly seconds?: string; readonly nanos?: number };

function asJson(value: unknown): unknown {
  return walk(value, (name, inner) => {
    if (timestampFields.has(name)) return timeText(inner as Parts);
    return durationFields.has(name) ? durationText(inner as Parts) : undefined;
  });
}

function asParts(value: unknown): unknown {
  return walk(value, (name, inner) => {
    if (typeof inner !== 'string') return undefined;
    if (timestampFields.has(name)) return timeParts(inner);
    return durationFields.has(name) ? durationParts(inner) : undefined;
  });
}

/** `replace`: undefined leaves it as it is. */
function walk(value: unknown, replace: (name: string, value: unknown) => unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((each) => walk(each, replace));
  if (typeof value !== 'object' || value === null) return value;
  const replaced = (name: string, inner: unknown): unknown =>
    (isMap ? undefined : replace(name, inner)) ?? walk(inner, replace, mapFields.has(name));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, replaced(name, inner)]));
}

function fraction(nanos: number): string {
  const digits = String(nanos)
    .padStart(9, '0')
    .replace(/(?:0{3}){1,3}$/, '');
  return digits === '' ? '' : `.${digits}`;
}

function timeText({ seconds = '0', nanos = 0 }: Parts): string {
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, -5)}${fraction(nanos)}Z`;
}

function timeParts(text: string): Parts {
  const [whole = '', digits = ''] = text.slice(0, -1).split('.');
  return { seconds: String(Math.floor(Date.parse(`${whole}Z`) / 1_000)), nanos: Number(digits.padEnd(9, '0')) };
}

function durationText({ seconds = '0', nanos = 0 }: Parts): string {
  const isNegative = nanos < 0 && !String(seconds).startsWith('-');
  return `${isNegative ? '-' : ''}${seconds}${fraction(Math.abs(nanos))}s`;
}

function durationParts(text: string): Parts {
  const [whole = '0', digits = ''] = text.slice(0, -1).split('.');
  const nanos = Number(digits.padEnd(9, '0'));
  return { seconds: whole, nanos: whole.startsWith('-') && nanos > 0 ? -nanos : nanos };
}
