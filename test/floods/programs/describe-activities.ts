/** Descriptions of a workflow that has two thousand pending activities, many at once: each answer is a quarter of a megabyte. */
import { randomUUID } from 'node:crypto';
import proto from '@temporalio/proto';
import { GrpcConnection } from '../../bench/grpc-connection.ts';
import { callForEver, namespace } from '../call-flood.ts';

const [address = '', underWay = '900', activities = '2000'] = process.argv.slice(2);
const { workflowservice } = proto.temporal.api;

const workflowId = `many-${randomUUID()}`;
const taskQueue = { name: workflowId };
const connection = await GrpcConnection.connect(address);
const start = { namespace, workflowId, workflowType: { name: 'many' }, taskQueue, requestId: randomUUID() };
await connection.call('StartWorkflowExecution', workflowservice.v1.StartWorkflowExecutionRequest.encode(start).finish());
const poll = workflowservice.v1.PollWorkflowTaskQueueRequest.encode({ namespace, taskQueue, identity: 'me' }).finish();
const { taskToken } = workflowservice.v1.PollWorkflowTaskQueueResponse.decode(await connection.call('PollWorkflowTaskQueue', poll, 60));
const commands = Array.from({ length: Number(activities) }, (_, nth) => ({
  commandType: 1,
  scheduleActivityTaskCommandAttributes: {
    activityId: `activity-${nth}`,
    activityType: { name: 'never' },
    taskQueue: { name: `${workflowId}-nobody` },
    scheduleToCloseTimeout: { seconds: 600 as never },
  },
}));
const completion = { namespace, taskToken, commands, identity: 'me' };
await connection.call('RespondWorkflowTaskCompleted', workflowservice.v1.RespondWorkflowTaskCompletedRequest.encode(completion).finish());
const request = workflowservice.v1.DescribeWorkflowExecutionRequest.encode({ namespace, execution: { workflowId } }).finish();

await callForEver(address, 'DescribeWorkflowExecution', Number(underWay), () => request);
