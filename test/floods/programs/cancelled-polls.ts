/** Polls that are cancelled, on a connection that also carries long polls of another namespace, as behind a proxy. Says how many of those were ended. */
import { connect, constants } from 'node:http2';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import proto from '@temporalio/proto';
import { namespace } from '../call-flood.ts';

const [address = '', perSecond = '450', longPolls = '20', tenant = 'victim'] = process.argv.slice(2);
const everyMs = 50;
/** Fewer a second than a connection may cancel for good. */
const ofLot = Math.floor((Number(perSecond) * everyMs) / 1_000);
/** By then a server that ends connections for what they cancel has ended this one. */
const begunAfter = 1_200;
const headers = {
  ':method': 'POST',
  ':path': '/temporal.api.workflowservice.v1.WorkflowService/PollActivityTaskQueue',
  'content-type': 'application/grpc',
  te: 'trailers',
  'grpc-timeout': '60S',
};

const session = connect(`http://${address}`);
session.on('error', () => {});
await once(session, 'connect');
const poll = (ofNamespace: string) => {
  const request = { namespace: ofNamespace, taskQueue: { name: `nobody-${process.pid}` }, identity: 'me' };
  const message = proto.temporal.api.workflowservice.v1.PollActivityTaskQueueRequest.encode(request).finish();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const stream = session.request(headers);
  stream.on('error', () => {});
  stream.end(Buffer.concat([head, message]));
  return stream;
};

let [cancelled, ended] = [0, 0];
for (let nth = 0; nth < Number(longPolls); nth++) poll(tenant).once('close', () => ended++);
const tell = (): void => console.log(`${ended} of ${longPolls} long polls of another namespace ended, ${cancelled} polls cancelled`);
for (;;) {
  const some = session.destroyed ? [] : Array.from({ length: ofLot }, () => poll(namespace));
  await delay(everyMs);
  // By now they wait at the server, if it reads.
  for (const each of some) each.close(constants.NGHTTP2_CANCEL);
  cancelled += some.length;
  if (cancelled >= begunAfter || session.destroyed) tell();
}
