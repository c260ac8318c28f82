/** What clients see of a schedule's progress, as the public API's messages. */
import type { ListedProgress } from '../schedules/listed-progress.ts';
import type { RecentAction } from '../schedules/schedule.ts';
import * as wire from './generated/lean/schedule.ts';

/** Under this name in the memo of its row, List finds it. */
export const listInfoField = 'ScheduleInfo';

/** A list shows so many calendars, intervals and exclusions of a schedule. */
const listedSpecsMax = 10;
/** A spec that is larger is not listed: it is written with every change of the schedule. */
const listedSpecBytesMax = 16 * 1024;

/** What is shown of a schedule until it is changed. */
export function listedDefinition(spec: wire.ScheduleSpec, workflowType: string): wire.ScheduleListInfo {
  return { ...wire.emptyScheduleListInfo(), spec: listedSpec(spec), workflowType: { name: workflowType } };
}

export function listedProgress({ notes, paused, recentActions, futureTimesMs }: ListedProgress): wire.ScheduleListInfo {
  return {
    ...wire.emptyScheduleListInfo(),
    notes,
    paused,
    recentActions: recentActions.map(actionResult),
    futureActionTimes: futureTimesMs.map(timestamp),
  };
}

function listedSpec(spec: wire.ScheduleSpec): wire.ScheduleSpec | undefined {
  const listed = {
    ...spec,
    timezoneData: new Uint8Array(0),
    structuredCalendar: spec.structuredCalendar.slice(0, listedSpecsMax),
    interval: spec.interval.slice(0, listedSpecsMax),
    excludeStructuredCalendar: spec.excludeStructuredCalendar.slice(0, listedSpecsMax),
  };
  return wire.encodeScheduleSpec(listed).length > listedSpecBytesMax ? undefined : listed;
}

export function actionResult({ scheduleTimeMs, actualTimeMs, workflowId, runId, status }: RecentAction): wire.ScheduleActionResult {
  return { scheduleTimeMs, actualTimeMs, startWorkflowResult: { workflowId, runId }, startWorkflowStatus: status };
}

export function timestamp(timeMs: number): wire.Timestamp {
  const seconds = Math.floor(timeMs / 1000);
  return { seconds, nanos: (timeMs - seconds * 1000) * 1_000_000 };
}
