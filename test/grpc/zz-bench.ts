import { fork } from 'node:child_process';
import http2 from 'node:http2';
import {
  emptyStartWorkflowExecutionRequest,
  encodeStartWorkflowExecutionRequest,
  emptyPollWorkflowTaskQueueRequest,
  encodePollWorkflowTaskQueueRequest,
  decodePollWorkflowTaskQueueResponse,
  emptyRespondWorkflowTaskCompletedRequest,
  encodeRespondWorkflowTaskCompletedRequest,
  emptyPollActivityTaskQueueRequest,
  encodePollActivityTaskQueueRequest,
  decodePollActivityTaskQueueResponse,
  emptyRespondActivityTaskCompletedRequest,
  encodeRespondActivityTaskCompletedRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { emptyCommand } from '../../src/wire/generated/lean/command.ts';
const mode = process.argv[2]!;
const which = (process.argv[3] ?? 'all').split(',');
const seconds = Number(process.argv[4] ?? 3);
const prof = process.argv[5];
const child = fork(new URL('./zz-server.ts', import.meta.url), [mode], {
  execArgv: prof ? ['--cpu-prof', '--cpu-prof-dir=/tmp/gbench'] : [],
});
const once = () => new Promise<any>((r) => child.once('message', r));
const { port } = await once();
const session = http2.connect('http://127.0.0.1:' + port);
const P = '/temporal.api.workflowservice.v1.WorkflowService/';
const opt = {
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
  'grpc-timeout': '70S',
  'client-name': 'temporal-typescript',
  'client-version': '1.24.0',
  'supported-server-versions': '>=1.0.0 <2.0.0',
  'grpc-accept-encoding': 'identity,deflate,gzip',
  'temporal-namespace': 'default',
  'user-agent': 'x',
};
function frame(b: Uint8Array) {
  const f = Buffer.alloc(b.length + 5);
  f.writeUInt32BE(b.length, 1);
  f.set(b, 5);
  return f;
}
function call(m: string, body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const r = session.request({ ...opt, ':path': P + m });
    const parts: Buffer[] = [];
    let st = '';
    r.on('data', (d) => parts.push(d));
    r.on('trailers', (t) => {
      st = String(t['grpc-status']);
    });
    r.on('response', (h) => {
      if (h['grpc-status']) st = h['grpc-status'] + ' ' + h['grpc-message'];
    });
    r.on('end', () => {
      if (st !== '0') reject(new Error(m + ' ' + st));
      else resolve(Buffer.concat(parts));
    });
    r.on('error', reject);
    r.end(body);
  });
}
const input = Buffer.alloc(60, 0);
const payloads = Buffer.from([
  10, 27, 10, 22, 10, 8, 101, 110, 99, 111, 100, 105, 110, 103, 18, 10, 106, 115, 111, 110, 47, 112, 108, 97, 105, 110, 18, 1, 49,
]);
const tq = { name: 'queue', kind: 1, normalName: '' };
const start = frame(
  encodeStartWorkflowExecutionRequest({
    ...emptyStartWorkflowExecutionRequest(),
    namespace: 'default',
    workflowId: 'wf-1',
    workflowType: { name: 't' },
    taskQueue: tq,
    input: payloads,
    requestId: 'r',
    identity: 'me@host',
  }),
);
const pollW = frame(
  encodePollWorkflowTaskQueueRequest({ ...emptyPollWorkflowTaskQueueRequest(), namespace: 'default', taskQueue: tq, identity: 'me@host' }),
);
const pollA = frame(
  encodePollActivityTaskQueueRequest({ ...emptyPollActivityTaskQueueRequest(), namespace: 'default', taskQueue: tq, identity: 'me@host' }),
);
let wt: Uint8Array = new Uint8Array(0),
  at: Uint8Array = wt;
if (mode === 'mine') {
  wt = decodePollWorkflowTaskQueueResponse((await call('PollWorkflowTaskQueue', pollW)).subarray(5)).taskToken;
  at = decodePollActivityTaskQueueResponse((await call('PollActivityTaskQueue', pollA)).subarray(5)).taskToken;
}
const doneW = frame(
  encodeRespondWorkflowTaskCompletedRequest({
    ...emptyRespondWorkflowTaskCompletedRequest(),
    namespace: 'default',
    taskToken: wt,
    identity: 'me@host',
    stickyAttributes: { workerTaskQueue: { name: 'st', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 10000 },
    sdkMetadata: payloads,
    commands: [
      {
        ...emptyCommand(),
        commandType: 1,
        scheduleActivityTaskCommandAttributes: {
          activityId: '1',
          activityType: { name: 'a' },
          taskQueue: tq,
          header: undefined,
          input: payloads,
          scheduleToCloseTimeoutMs: 1000,
          scheduleToStartTimeoutMs: 0,
          startToCloseTimeoutMs: 0,
          heartbeatTimeoutMs: 0,
          retryPolicy: undefined,
          requestEagerExecution: false,
          useWorkflowBuildId: false,
          priority: undefined,
        },
      },
    ],
  }),
);
const doneA = frame(
  encodeRespondActivityTaskCompletedRequest({
    ...emptyRespondActivityTaskCompletedRequest(),
    namespace: 'default',
    taskToken: at,
    identity: 'me@host',
    result: payloads,
  }),
);
const bodies: Record<string, Buffer> = {
  StartWorkflowExecution: start,
  PollWorkflowTaskQueue: pollW,
  RespondWorkflowTaskCompleted: doneW,
  PollActivityTaskQueue: pollA,
  RespondActivityTaskCompleted: doneA,
  GetSystemInfo: frame(new Uint8Array(0)),
};
const names = which[0] === 'all' ? Object.keys(bodies) : which;
async function run(m: string, ms: number) {
  let n = 0;
  const end = Date.now() + ms;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (Date.now() < end) {
        await call(m, bodies[m]!);
        n++;
      }
    }),
  );
  return n;
}
for (const m of names) {
  await run(m, 1500);
  child.send('cpu');
  const a = (await once()).cpu;
  const n = await run(m, seconds * 1000);
  child.send('cpu');
  const r = await once();
  const b = r.cpu;
  console.log(
    mode,
    m.padEnd(30),
    (n / seconds).toFixed(0) + '/s',
    ((b.user + b.system - a.user - a.system) / n).toFixed(1) + ' us/call',
    (r.rss / 1e6).toFixed(0) + 'MB',
  );
}
session.close();
child.send('exit');
