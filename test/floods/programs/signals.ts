/** Thousands of signals to one workflow under way at any time. */
import { randomUUID } from 'node:crypto';
import proto from '@temporalio/proto';
import { GrpcConnection } from '../../bench/grpc-connection.ts';
import { callForEver, namespace } from '../call-flood.ts';

const [address = '', underWay = '12000', connections = '13'] = process.argv.slice(2);
const { workflowservice } = proto.temporal.api;

const workflowId = `told-${randomUUID()}`;
const connection = await GrpcConnection.connect(address);
const start = { namespace, workflowId, workflowType: { name: 'told' }, taskQueue: { name: workflowId }, requestId: randomUUID() };
await connection.call('StartWorkflowExecution', workflowservice.v1.StartWorkflowExecutionRequest.encode(start).finish());
const request = workflowservice.v1.SignalWorkflowExecutionRequest.encode({
  namespace,
  workflowExecution: { workflowId },
  signalName: 'go',
}).finish();

const each = Math.floor(Number(underWay) / Number(connections));
await Promise.all(Array.from({ length: Number(connections) }, () => callForEver(address, 'SignalWorkflowExecution', each, () => request)));
