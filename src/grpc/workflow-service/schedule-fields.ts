/** What the server keeps of a schedule in its memo and search attributes, apart from what its clients have set there. */
import { actionTimeText } from '../../schedules/action-time.ts';
import type { ScheduleProgress } from '../../schedules/schedule.ts';
import { decodeFields, encodeFields } from '../../wire/fields.ts';
import { decodePayload } from '../../wire/generated/lean/common.ts';
import { decodeScheduleListInfo, type ScheduleListInfo } from '../../wire/generated/lean/schedule.ts';
import { listInfoField } from '../../wire/schedule-info.ts';
import { unlessMalformed } from '../../wire/wire-error.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { withNote } from './memo-note.ts';

const ownAttributes: ReadonlySet<string> = new Set(['TemporalSchedulePaused', 'TemporalNamespaceDivision']);

/** undefined: nothing is left. */
export function withoutScheduleAttributes(attributes: Uint8Array | undefined): Uint8Array | undefined {
  return without(attributes, (name) => ownAttributes.has(name));
}

export function withoutListInfo(memo: Uint8Array | undefined): Uint8Array | undefined {
  return without(memo, (name) => name === listInfoField);
}

/** Starts that have failed for good, the newest of them by their times: nothing else of a schedule tells of them. */
export function withLeftStarts(memo: Uint8Array | undefined, { starting }: ScheduleProgress): Uint8Array | undefined {
  const left = starting.filter((action) => action.left).map(({ nominalTimeMs }) => actionTimeText(nominalTimeMs));
  if (left.length === 0) return memo;
  const times = left.slice(-timesNotedMax).join(', ');
  const which = left.length > timesNotedMax ? `the last of ${left.length}: ${times}` : times;
  const note = `starts that became dead letters of the queue transfer (${which}): merged, they still start their workflows`;
  return withNote(memo, 'PerdureLeftStarts', note);
}

const timesNotedMax = 10;

function without(fields: Uint8Array | undefined, isOwn: (name: string) => boolean): Uint8Array | undefined {
  const left = Array.from(fields === undefined ? [] : decodeFields(fields)).filter(([name]) => !isOwn(name));
  return left.length === 0 ? undefined : encodeFields(new Map(left));
}

/** undefined: the row is damaged or tells of none, or it is of a workflow that says it is a schedule, and may have anything there. */
export function listInfoOf(memo: Uint8Array | undefined): ScheduleListInfo | undefined {
  const payload = memo === undefined ? undefined : decodeFields(memo).get(listInfoField);
  if (payload === undefined) return undefined;
  return unlessMalformed(() => decodeScheduleListInfo(decodePayload(payload, ownLimits).data, ownLimits));
}
