/** Counts of thousands of workers by a query of a hundred conditions: each takes the processor for a tenth of a second and more. */
import proto from '@temporalio/proto';
import { GrpcConnection } from '../../bench/grpc-connection.ts';
import { callForEver, namespace } from '../call-flood.ts';

const [address = '', underWay = '50', workers = '5000'] = process.argv.slice(2);
const { CountWorkersRequest, RecordWorkerHeartbeatRequest } = proto.temporal.api.workflowservice.v1;
const ofCall = 100;

const connection = await GrpcConnection.connect(address);
for (let first = 0; first < Number(workers); first += ofCall) {
  const workerHeartbeat = Array.from({ length: ofCall }, (_, nth) => ({
    workerInstanceKey: `worker-${first + nth}`,
    taskQueue: 'orders',
    sdkName: 'temporal-typescript',
    status: 1,
  }));
  await connection.call(
    'RecordWorkerHeartbeat',
    RecordWorkerHeartbeatRequest.encode({ namespace, identity: 'me', workerHeartbeat }).finish(),
  );
}
const query = Array.from({ length: 100 }, (_, nth) => `TaskQueue != 'none-${nth}'`).join(' AND ');
const request = CountWorkersRequest.encode({ namespace, query }).finish();

await callForEver(address, 'CountWorkers', Number(underWay), () => request);
