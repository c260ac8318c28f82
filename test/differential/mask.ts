/** Takes out of an answer what may differ between two right servers: ids they made up, times, sizes of their own encoding. */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** Only their presence counts. */
const OPAQUE: ReadonlySet<string> = new Set([
  'taskToken',
  'nextPageToken',
  'historySizeBytes',
  'stateTransitionCount',
  'executionDuration',
  'firstWorkflowTaskBackoff',
  'ownerHostName',
  'version',
  'namespaceId',
  'conflictToken',
  'stateSizeBytes',
  'parentWorkflowNamespaceId',
  'externalWorkflowNamespaceId',
]);

/** Not even that: features with settings of their own, tuning hints, and what docs/differences.md lists. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'pollerScalingDecision',
  'approximateBacklogAge',
  'tasksAddRate',
  'tasksDispatchRate',
  'backlogCountHint',
  'taskId',
  'autoResetPoints',
  'prevAutoResetPoints',
  'BuildIds',
  'BinaryChecksums',
  'versioningInfo',
  'capabilities',
  'supportsSchedules',
  'taskQueueStatus',
]);

/** A run that continues another one waits for what is left of a second since that one began: for chance to say. */
function isOfChance(name: string, siblings: object): boolean {
  return name === 'firstWorkflowTaskBackoff' && 'continuedExecutionRunId' in siblings;
}

export type Masker = (value: unknown) => unknown;

/** `names`: strings of this execution and what to call them, the longest first. */
export function masker(names: () => readonly (readonly [string, string])[]): Masker {
  const text = (value: string): string => {
    let masked = value;
    for (const [real, name] of names()) masked = masked.replaceAll(real, name);
    return (
      masked
        .replace('request-from-RespondWorkflowTaskCompleted', '<uuid>')
        .replaceAll(UUID, '<uuid>')
        // Go prints messages with one space or two.
        .replaceAll(/"  (?=[a-z_]+:)/g, '" ')
        .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+( \+0000 UTC( m=\S+)?|Z)/g, '<time>')
    );
  };
  const visit = (value: unknown, key: string, isInEvent: boolean): unknown => {
    if (OPAQUE.has(key)) return isEmpty(value) ? {} : '<opaque>';
    if (typeof value === 'string') return key === 'data' ? maskedBytes(value, names()) : text(value);
    // Lists of times are what a schedule will do: they count.
    if (Array.isArray(value))
      return inOrder(
        value.map((item) => visit(item, '', isInEvent)),
        key,
      );
    if (typeof value !== 'object' || value === null) return value;
    if (key === 'currentRetryInterval') return inMilliseconds(value as Duration);
    if (isTime(key)) return Number((value as { seconds?: unknown }).seconds ?? 0) > 0 ? '<time>' : {};
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !LEFT_OUT.has(name) && !isOfChance(name, value))
        .map(([name, item]) => [text(name), visit(item, name, isInEvent || name.endsWith('EventAttributes'))] as const)
        .filter(([, item]) => isInEvent || !isEmpty(item)),
    );
  };
  return (value) => visit(value, '', false);
}

/** Bytes of a payload, in which the server may have put a name too. */
function maskedBytes(base64: string, names: readonly (readonly [string, string])[]): string {
  const bytes = Buffer.from(base64, 'base64').toString('latin1');
  const told = names.reduce((text, [real, name]) => text.replaceAll(real, name), bytes);
  return told === bytes ? base64 : Buffer.from(told, 'latin1').toString('base64');
}

/** Of lists without an order of their own. */
function inOrder(list: readonly unknown[], key: string): readonly unknown[] {
  if (!UNORDERED.has(key)) return list;
  return list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

const UNORDERED: ReadonlySet<string> = new Set(['workers', 'workersInfo', 'pendingActivities', 'pendingChildren', 'callbacks']);

type Duration = { readonly seconds?: number; readonly nanos?: number };

/** Some microseconds more than the policy says (docs/differences.md). */
function inMilliseconds({ seconds = 0, nanos = 0 }: Duration): number {
  return seconds * 1_000 + Math.floor(nanos / 1e6);
}

function isTime(key: string): boolean {
  return key.endsWith('Time') || key.endsWith('Timestamp');
}

/** An absent message, an empty one and one of zeros say the same, and the servers choose differently. But in events each says what it says. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((item) => item === 0 || isEmpty(item));
}
