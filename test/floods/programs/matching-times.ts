/** Times of a paused schedule that are hard to find: every second, but none of the seconds from 1 to 59. */
import proto from '@temporalio/proto';
import { randomUUID } from 'node:crypto';
import { GrpcConnection } from '../../bench/grpc-connection.ts';
import { callForEver, namespace } from '../call-flood.ts';

const [address = '', underWay = '50'] = process.argv.slice(2);
const { CreateScheduleRequest, ListScheduleMatchingTimesRequest } = proto.temporal.api.workflowservice.v1;

const scheduleId = `schedule-${randomUUID()}`;
const everySecond = {
  second: [{ end: 59 }],
  minute: [{ end: 59 }],
  hour: [{ end: 23 }],
  dayOfMonth: [{ start: 1, end: 31 }],
  month: [{ start: 1, end: 12 }],
  dayOfWeek: [{ end: 6 }],
};
const connection = await GrpcConnection.connect(address);
await connection.call(
  'CreateSchedule',
  CreateScheduleRequest.encode({
    namespace,
    scheduleId,
    requestId: randomUUID(),
    schedule: {
      spec: {
        structuredCalendar: [everySecond],
        excludeStructuredCalendar: [{ ...everySecond, second: [{ start: 1, end: 59 }] }],
      },
      action: { startWorkflow: { workflowId: 'never', workflowType: { name: 'never' }, taskQueue: { name: 'never' } } },
      state: { paused: true },
    },
  }).finish(),
);
const seconds = 1_800_000_000;
const request = ListScheduleMatchingTimesRequest.encode({
  namespace,
  scheduleId,
  startTime: { seconds: seconds as never },
  endTime: { seconds: (seconds + 1_000_000) as never },
}).finish();

await callForEver(address, 'ListScheduleMatchingTimes', Number(underWay), () => request);
