/**
 * Counts whose condition costs much at each row. All places of the calls are taken at any time, by two kinds in turn: nearly two hundred conditions on a
 * list, and one that takes five hundred values.
 */
import proto from '@temporalio/proto';
import { GrpcConnection } from '../../bench/grpc-connection.ts';
import { callForEver, namespace } from '../call-flood.ts';

const [address = '', underWay = '50', runs = '2000'] = process.argv.slice(2);
const { StartWorkflowExecutionRequest, CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse } =
  proto.temporal.api.workflowservice.v1;

const connection = await GrpcConnection.connect(address);
const name = 'counted';
// A flood before this one may have started them.
const all = await connection.call('CountWorkflowExecutions', CountWorkflowExecutionsRequest.encode({ namespace }).finish());
let started = Number(CountWorkflowExecutionsResponse.decode(all).count);
const starts = Array.from({ length: 100 }, async () => {
  while (started < Number(runs)) {
    const workflowId = `${name}-${started++}`;
    const start = { namespace, workflowId, requestId: workflowId, workflowType: { name }, taskQueue: { name } };
    await connection.call('StartWorkflowExecution', StartWorkflowExecutionRequest.encode(start).finish());
  }
});
await Promise.all(starts);
await connection.close();

const values = Array.from({ length: 500 }, (_, nth) => `'z${nth}'`);
const queries = [
  values
    .slice(0, 190)
    .map((value) => `BuildIds != ${value}`)
    .join(' AND '),
  `BuildIds NOT IN (${values.join(', ')})`,
].map((query) => CountWorkflowExecutionsRequest.encode({ namespace, query }).finish());

let asked = 0;
await callForEver(address, 'CountWorkflowExecutions', Number(underWay), () => queries[asked++ % queries.length] ?? new Uint8Array());
