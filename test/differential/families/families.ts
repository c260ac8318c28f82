import { Prng } from '../../simulation/prng.ts';
import { anyOf, mutated, thinned } from '../mutate.ts';
import type { Fields, Program, Step } from '../program.ts';
import { call } from '../program.ts';
import {
  applicationFailure,
  cancelRequest,
  command,
  commands,
  millis,
  payload,
  payloads,
  seconds,
  signalRequest,
  signalWithStartRequest,
  startNeeds,
  startRequest,
  terminateRequest,
} from './requests.ts';
import { activityOperations } from './activity-operations.ts';
import { batches } from './batches.ts';
import { callbacks } from './callbacks.ts';
import { lives } from './lives.ts';
import { multiOperations } from './multi-operations.ts';
import { namespaces } from './namespaces.ts';
import { pauses } from './pauses.ts';
import { queueConfigs } from './queue-configs.ts';
import { resets } from './resets.ts';
import { schedules } from './schedules.ts';
import { scheduleSpecs } from './schedule-specs.ts';
import type { Family } from './steps.ts';
import { complete, plainStart, poll, settle, times } from './steps.ts';
import { updates } from './updates.ts';
import { workers } from './workers.ts';

const families: { readonly [name: string]: Family } = {
  starts,
  clients,
  reading,
  commandChecks,
  tasks,
  activities,
  activityCalls,
  children,
  queries,
  closing,
  taskQueues,
  administration,
  updates,
  multiOperations,
  resets,
  lives,
  activityOperations,
  pauses,
  schedules,
  scheduleSpecs,
  batches,
  namespaces,
  queueConfigs,
  workers,
  callbacks,
};

export const familyNames = Object.keys(families);

export function programOf(seed: number, only: readonly string[]): Program {
  const prng = new Prng(seed);
  const family = prng.pick(only.length === 0 ? familyNames : only);
  const make = families[family];
  if (make === undefined) throw new Error(`there is no family ${family}; there are ${familyNames.join(', ')}`);
  return { family, seed, steps: make(prng) };
}

const REUSE = ['UNSPECIFIED', 'ALLOW_DUPLICATE', 'ALLOW_DUPLICATE_FAILED_ONLY', 'REJECT_DUPLICATE', 'TERMINATE_IF_RUNNING'];
const CONFLICT = ['UNSPECIFIED', 'FAIL', 'USE_EXISTING', 'TERMINATE_EXISTING'];

function starts(prng: Prng): readonly Step[] {
  const one = (): readonly Step[] => {
    const withSignal = prng.chance(0.3);
    const method = withSignal ? 'SignalWithStartWorkflowExecution' : 'StartWorkflowExecution';
    const base = withSignal ? signalWithStartRequest() : startRequest();
    let request: Fields = thinned(prng, base, withSignal ? [...startNeeds, 'signalName'] : startNeeds);
    if (prng.chance(0.5)) request = { ...request, requestId: prng.pick(['request-1', 'request-2', 'request-3']) };
    if (prng.chance(0.5)) request = { ...request, workflowIdReusePolicy: `WORKFLOW_ID_REUSE_POLICY_${prng.pick(REUSE)}` };
    if (prng.chance(0.4)) request = { ...request, workflowIdConflictPolicy: `WORKFLOW_ID_CONFLICT_POLICY_${prng.pick(CONFLICT)}` };
    if (prng.chance(0.4)) request = mutated(prng, request);
    return [call(method, request, { slot: 0 })];
  };
  const between = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, reason: 'r', identity: 'client' })],
      [poll(), complete([command('completeWorkflowExecution', { result: payloads(1) })])],
      [poll(), complete([command('failWorkflowExecution', { failure: applicationFailure('Broken') })])],
    ]);
  return times(prng.int(2, 4), () => [...one(), ...between()]);
}

function clients(prng: Prng): readonly Step[] {
  const makers: readonly (readonly [string, (slot?: number) => Fields])[] = [
    ['SignalWorkflowExecution', signalRequest],
    ['RequestCancelWorkflowExecution', cancelRequest],
    ['TerminateWorkflowExecution', terminateRequest],
    ['SignalWithStartWorkflowExecution', signalWithStartRequest],
  ];
  const one = (): readonly Step[] => {
    const [method, make] = prng.pick(makers);
    let request = thinned(prng, make(), ['workflowExecution', 'workflowId', 'workflowType', 'taskQueue', 'signalName']);
    if (prng.chance(0.3)) request = { ...request, requestId: prng.pick(['signal-request-1', 'other']) };
    if (prng.chance(0.45)) request = mutated(prng, request);
    return [call(method, request, method === 'SignalWithStartWorkflowExecution' ? { slot: 0 } : {})];
  };
  const beginning = prng.chance(0.85) ? [plainStart()] : [];
  const started = prng.chance(0.4) ? [poll()] : [];
  return [...beginning, ...started, ...times(prng.int(2, 5), one), poll(), ...times(1, one)];
}

function reading(prng: Prng): readonly Step[] {
  const execution = (): Fields =>
    prng.pick([{ workflowId: '$W0', runId: '$RUN0' }, { workflowId: '$W0' }, { workflowId: '$W5' }, { workflowId: '$W0', runId: '$OLD0' }]);
  const one = (): readonly Step[] => {
    const method = prng.pick([
      'GetWorkflowExecutionHistory',
      'GetWorkflowExecutionHistory',
      'GetWorkflowExecutionHistoryReverse',
      'DescribeWorkflowExecution',
    ]);
    let request: Fields = { execution: execution() };
    if (method !== 'DescribeWorkflowExecution') {
      request = { ...request, maximumPageSize: prng.pick([0, 1_000]) };
      if (prng.chance(0.5)) request = { ...request, nextPageToken: '$PAGE' };
    }
    if (method === 'GetWorkflowExecutionHistory') {
      if (prng.chance(0.5))
        request = {
          ...request,
          historyEventFilterType: `HISTORY_EVENT_FILTER_TYPE_${prng.pick(['ALL_EVENT', 'CLOSE_EVENT', 'UNSPECIFIED'])}`,
        };
      if (prng.chance(0.2)) request = { ...request, waitNewEvent: true, skipArchival: true };
    }
    if (prng.chance(0.3)) request = mutated(prng, request);
    return [call(method, request, { timeoutMs: 1_500 })];
  };
  const more = prng.pick<readonly Step[]>([
    [],
    [poll()],
    [
      poll(),
      complete([command('recordMarker', { markerName: 'm' }), command('startTimer', { timerId: 't', startToFireTimeout: seconds(60) })]),
    ],
    [poll(), complete([command('completeWorkflowExecution', { result: payloads('r') })])],
    [poll(), complete([command('continueAsNewWorkflowExecution', commands['continueAsNewWorkflowExecution']?.(0) ?? {})])],
  ]);
  return [plainStart(), ...more, ...times(prng.int(3, 6), one)];
}

/** One workflow task after another, each with one or two bent commands: the texts and causes of 3.4. */
function commandChecks(prng: Prng): readonly Step[] {
  const names = Object.keys(commands);
  const one = (): readonly Step[] => {
    const list = Array.from({ length: prng.pick([1, 1, 1, 2]) }, () => {
      const name = prng.pick(names);
      const full = commands[name]?.(0) ?? {};
      const bent = prng.chance(0.06) ? undefined : mutated(prng, prng.chance(0.3) ? mutated(prng, full) : full);
      return command(name, bent);
    });
    return [
      poll(),
      complete(list),
      { op: 'sleep', ms: 60 },
      call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W1' } }),
    ];
  };
  return [plainStart(), ...times(prng.int(1, 2), one)];
}

/** Workflow tasks: failures, attempts, heartbeats, buffered events, sticky queues, wrong tokens. */
function tasks(prng: Prng): readonly Step[] {
  const signal = (): Step =>
    call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: prng.pick(['a', 'b']), identity: 'client' });
  const sticky = {
    workerTaskQueue: { name: '$Q0-sticky', kind: 'TASK_QUEUE_KIND_STICKY', normalName: '$Q0' },
    scheduleToStartTimeout: seconds(2),
  };
  const answer = (): Step => {
    const kind = prng.int(0, 9);
    const more: Fields = {
      ...(prng.chance(0.3) ? { returnNewWorkflowTask: true } : {}),
      ...(prng.chance(0.3) ? { forceCreateNewWorkflowTask: true } : {}),
      ...(prng.chance(0.3) ? { stickyAttributes: sticky } : {}),
      ...(prng.chance(0.15) ? { sdkMetadata: { langUsedFlags: [1, 2], sdkName: 'diff', sdkVersion: '1.0.0' } } : {}),
      ...(prng.chance(0.1) ? { binaryChecksum: 'checksum' } : {}),
      ...(prng.chance(0.1) ? { taskToken: '$TOKENOLD0' } : {}),
    };
    if (kind === 0) return complete([command('completeWorkflowExecution', { result: payloads(1) })], more);
    if (kind === 1) return complete([command('completeWorkflowExecution', {}), command('recordMarker', { markerName: 'late' })], more);
    if (kind === 2) return complete([command('startTimer', { timerId: 't1', startToFireTimeout: seconds(60) })], more);
    if (kind === 3) return complete([command('cancelTimer', { timerId: 't1' })], more);
    if (kind === 4 || kind === 5)
      return call('RespondWorkflowTaskFailed', {
        taskToken: prng.chance(0.1) ? '$TOKENOLD0' : '$TOKEN0',
        cause: `WORKFLOW_TASK_FAILED_CAUSE_${prng.pick(['WORKFLOW_WORKER_UNHANDLED_FAILURE', 'NON_DETERMINISTIC_ERROR', 'RESET_STICKY_WORKFLOW_TASK_QUEUE', 'UNHANDLED_COMMAND', 'UNSPECIFIED', 'RESET_STICKY_TASK_QUEUE', 'PAYLOADS_TOO_LARGE', 'GRPC_MESSAGE_TOO_LARGE'].filter((name) => !name.includes('STICKY_WORKFLOW')))}`,
        failure: prng.chance(0.8) ? applicationFailure('Task') : undefined,
        identity: 'worker',
        binaryChecksum: prng.chance(0.3) ? 'checksum' : '',
      });
    if (kind === 6) return complete([command('recordMarker', { markerName: 'm', details: { a: payloads(1) } })], more);
    return complete([], more);
  };
  const between = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [signal()],
      [signal(), signal()],
      [call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, identity: 'client', reason: 'r' })],
      [call('ResetStickyTaskQueue', { execution: { workflowId: '$W0' } })],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })].filter(() => prng.chance(0.3)),
    ]);
  const step = (): readonly Step[] => [
    ...(prng.chance(0.4) ? between() : []),
    ...(prng.chance(0.3) ? [{ op: 'poll', slot: 0, sticky: true } as const] : [poll()]),
    ...(prng.chance(0.5) ? between() : []),
    answer(),
  ];
  return [plainStart(), ...times(prng.int(2, 6), step), signal()];
}

const ACTIVITY_OPTIONS: readonly Fields[] = [
  { startToCloseTimeout: seconds(20) },
  { scheduleToCloseTimeout: seconds(20) },
  { startToCloseTimeout: seconds(20), retryPolicy: { initialInterval: millis(100), backoffCoefficient: 1, maximumAttempts: 2 } },
  { startToCloseTimeout: seconds(20), retryPolicy: { maximumAttempts: 1 } },
  { startToCloseTimeout: seconds(1), retryPolicy: { maximumAttempts: 1 } },
  { startToCloseTimeout: seconds(20), retryPolicy: { nonRetryableErrorTypes: ['Fatal'] }, heartbeatTimeout: seconds(1) },
  { scheduleToStartTimeout: seconds(1), startToCloseTimeout: seconds(20) },
  { scheduleToCloseTimeout: seconds(1), startToCloseTimeout: millis(900), retryPolicy: { initialInterval: seconds(5) } },
];

function activities(prng: Prng): readonly Step[] {
  const byId = prng.chance(0.4);
  const who: Fields = byId
    ? { workflowId: '$W0', ...(prng.chance(0.5) ? { runId: '$RUN0' } : {}), activityId: 'act-1' }
    : { taskToken: prng.chance(0.1) ? '$ATOKENOLD0' : '$ATOKEN0' };
  const name = byId ? 'ById' : '';
  const answer = (): readonly Step[] => {
    const failure = anyOf<Fields | undefined>(prng, [
      applicationFailure('Fatal'),
      applicationFailure('Soft'),
      applicationFailure('Soft', { nonRetryable: true }),
      applicationFailure('Soft', { nextRetryDelay: millis(200) }),
      { message: 'bare' },
      { message: 'c', canceledFailureInfo: {} },
      undefined,
    ]);
    return prng.pick<readonly Step[]>([
      [call(`RespondActivityTaskCompleted${name}`, { ...who, result: payloads('done'), identity: 'worker' })],
      [
        call(`RespondActivityTaskFailed${name}`, {
          ...who,
          failure,
          identity: 'worker',
          ...(prng.chance(0.3) ? { lastHeartbeatDetails: payloads('last') } : {}),
        }),
      ],
      [call(`RespondActivityTaskFailed${name}`, { ...who, failure, identity: 'worker' })],
      [call(`RespondActivityTaskCanceled${name}`, { ...who, details: payloads('canceled'), identity: 'worker' })],
      [call(`RecordActivityTaskHeartbeat${name}`, { ...who, details: payloads('beat'), identity: 'worker' })],
      [{ op: 'sleep', ms: 1_300 }],
      [
        call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' } }),
        poll(),
        complete([command('requestCancelActivityTask', { scheduledEventId: 5 })]),
      ],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })].filter(() => prng.chance(0.3)),
      [call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' }), poll()],
      [poll(), complete([command('completeWorkflowExecution', {})])].filter(() => prng.chance(0.4)),
    ]);
  };
  const schedule = command(
    'scheduleActivityTask',
    {
      activityId: 'act-1',
      activityType: { name: 'act' },
      ...(prng.chance(0.7) ? { taskQueue: { name: '$Q0' } } : {}),
      input: payloads('in'),
      ...prng.pick(ACTIVITY_OPTIONS),
    },
    prng.chance(0.2) ? { userMetadata: { summary: payload('s') } } : {},
  );
  const eager = prng.chance(0.1);
  return [
    plainStart(0, prng.chance(0.3) ? { workflowRunTimeout: seconds(15) } : {}),
    poll(),
    complete([schedule], eager ? { returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true } : {}),
    ...(prng.chance(0.85) ? [{ op: 'pollActivity', slot: 0 } as const] : []),
    ...times(prng.int(1, 4), () => [...answer(), ...(prng.chance(0.5) ? [{ op: 'pollActivity', slot: 0 } as const] : [])]),
    poll(),
  ];
}

/** The activity calls with bent requests. */
function activityCalls(prng: Prng): readonly Step[] {
  const byToken: Fields = { taskToken: '$ATOKEN0', identity: 'worker' };
  const byId: Fields = { workflowId: '$W0', runId: '$RUN0', activityId: 'act-1', identity: 'worker' };
  const bodies: readonly (readonly [string, Fields])[] = [
    ['RespondActivityTaskCompleted', { result: payloads(1) }],
    ['RespondActivityTaskFailed', { failure: applicationFailure('Soft'), lastHeartbeatDetails: payloads('l') }],
    ['RespondActivityTaskCanceled', { details: payloads(1) }],
    ['RecordActivityTaskHeartbeat', { details: payloads(1) }],
  ];
  const one = (): readonly Step[] => {
    const [method, body] = prng.pick(bodies);
    const direct = prng.chance(0.5);
    const request = { ...(direct ? byToken : byId), ...body };
    return [call(direct ? method : `${method}ById`, prng.chance(0.8) ? mutated(prng, request) : request)];
  };
  const schedule = command('scheduleActivityTask', {
    activityId: 'act-1',
    activityType: { name: 'act' },
    taskQueue: { name: '$Q0' },
    startToCloseTimeout: seconds(20),
  });
  return [plainStart(), poll(), complete([schedule]), { op: 'pollActivity', slot: 0 }, ...times(prng.int(3, 6), one), poll()];
}

function children(prng: Prng): readonly Step[] {
  const child = (): Fields => {
    const full = commands['startChildWorkflowExecution']?.(0) ?? {};
    return command('startChildWorkflowExecution', {
      ...thinned(prng, full, ['workflowId', 'workflowType', 'taskQueue']),
      ...(prng.chance(0.6)
        ? { parentClosePolicy: `PARENT_CLOSE_POLICY_${prng.pick(['UNSPECIFIED', 'TERMINATE', 'ABANDON', 'REQUEST_CANCEL'])}` }
        : {}),
    });
  };
  const external = (): Fields => {
    const name = prng.pick(['requestCancelExternalWorkflowExecution', 'signalExternalWorkflowExecution']);
    const target = prng.pick(['$W0', '$W1', '$W5']);
    const childWorkflowOnly = prng.chance(0.3);
    const runId = prng.pick(['', '$RUN1', '']);
    return command(
      name,
      name === 'signalExternalWorkflowExecution'
        ? {
            namespace: 'default',
            execution: { workflowId: target, runId },
            signalName: 'out',
            input: payloads('o'),
            childWorkflowOnly,
            control: 'c',
          }
        : { namespace: 'default', workflowId: target, runId, childWorkflowOnly, reason: 'r', control: 'c' },
    );
  };
  const inChild = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [poll(1), complete([command('completeWorkflowExecution', { result: payloads('c') })], {}, 1)],
      [poll(1), complete([command('failWorkflowExecution', { failure: applicationFailure('Child') })], {}, 1)],
      [poll(1), complete([command('cancelWorkflowExecution', {})], {}, 1)],
      [
        poll(1),
        complete([command('continueAsNewWorkflowExecution', { workflowType: { name: 'next' }, taskQueue: { name: '$Q1' } })], {}, 1),
      ],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W1' } })],
      [],
    ]);
  const inParent = (): readonly Step[] => {
    const list = prng.pick<readonly Fields[]>([
      [child()],
      [external()],
      [command('completeWorkflowExecution', {})],
      [child(), command('completeWorkflowExecution', {})],
      [command('continueAsNewWorkflowExecution', { workflowType: { name: 'next' }, taskQueue: { name: '$Q0' } })],
      [],
    ]);
    return [poll(), complete(list), settle, { op: 'sleep', ms: 100 }];
  };
  const other = prng.chance(0.25) ? [plainStart(1)] : [];
  const begun = complete([prng.chance(0.7) ? child() : external()]);
  const middle = times(prng.int(2, 4), () => (prng.chance(0.5) ? inChild() : inParent()));
  return [
    ...other,
    plainStart(),
    poll(),
    begun,
    settle,
    { op: 'sleep', ms: 100 },
    ...middle,
    // What is told of the child comes first, and the first task of a run that has waited out its second.
    settle,
    { op: 'sleep', ms: JSON.stringify(middle).includes('continueAsNew') ? 1_600 : 100 },
    settle,
    call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 'end' }),
    ...(prng.chance(0.5) ? [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })] : []),
    settle,
    { op: 'sleep', ms: 150 },
  ];
}

function queries(prng: Prng): readonly Step[] {
  const query = (): Fields => ({
    namespace: 'default',
    execution: { workflowId: '$W0', ...(prng.chance(0.5) ? { runId: '$RUN0' } : {}) },
    query: { queryType: 'state', queryArgs: payloads('q'), header: { fields: { trace: payload('h') } } },
    ...(prng.chance(0.4)
      ? { queryRejectCondition: `QUERY_REJECT_CONDITION_${prng.pick(['NONE', 'NOT_OPEN', 'NOT_COMPLETED_CLEANLY'])}` }
      : {}),
  });
  const begin = (): Step => ({ op: 'begin', method: 'QueryWorkflow', request: query(), timeoutMs: 4_000 });
  const answer = (): Step =>
    call(
      'RespondQueryTaskCompleted',
      prng.chance(0.2)
        ? mutated(prng, { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') })
        : prng.chance(0.5)
          ? { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') }
          : {
              taskToken: '$TOKEN0',
              completedType: 'QUERY_RESULT_TYPE_FAILED',
              errorMessage: 'no such query',
              failure: applicationFailure('Q'),
            },
    );
  const before = prng.pick<readonly Step[]>([
    [],
    [poll(), complete([])],
    [poll(), complete([])],
    [poll(), complete([command('completeWorkflowExecution', {})])],
    [poll(), complete([command('failWorkflowExecution', { failure: applicationFailure('X') })])],
    [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })],
  ]);
  const blind: Step = { op: 'poll', slot: 0, blindly: true };
  const round = prng.pick<readonly Step[]>([
    [begin(), blind, answer(), { op: 'await' }],
    [begin(), blind, answer(), answer(), { op: 'await' }],
    [call('QueryWorkflow', mutated(prng, query()), { timeoutMs: 2_500 })],
    [
      call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' }),
      begin(),
      blind,
      complete([], { queryResults: {} }),
      blind,
      answer(),
      { op: 'await' },
    ],
    [
      call(
        'RespondQueryTaskCompleted',
        mutated(prng, { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') }),
      ),
    ],
    [call('QueryWorkflow', query(), { timeoutMs: 2_500 })],
  ]);
  return [plainStart(), ...before, ...round];
}

/** Runs that end while things happen: unhandled commands, timeouts, chains of runs. */
function closing(prng: Prng): readonly Step[] {
  const close = (): Fields =>
    prng.pick([
      command('completeWorkflowExecution', { result: payloads(1) }),
      command('failWorkflowExecution', { failure: applicationFailure('X') }),
      command('cancelWorkflowExecution', { details: payloads(1) }),
      command(
        'continueAsNewWorkflowExecution',
        thinned(prng, commands['continueAsNewWorkflowExecution']?.(0) ?? {}, ['workflowType', 'taskQueue']),
      ),
    ]);
  const disturb = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' })],
      [call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })],
      [call('UpdateWorkflowExecutionOptions', {})].slice(1),
    ]);
  const short = prng.chance(0.3);
  return [
    plainStart(0, short ? { workflowRunTimeout: seconds(1), workflowExecutionTimeout: seconds(prng.pick([1, 30])) } : {}),
    ...(prng.chance(0.2)
      ? [
          poll(),
          complete([
            command('startTimer', { timerId: 't', startToFireTimeout: millis(30_000) }),
            command('upsertWorkflowSearchAttributes', commands['upsertWorkflowSearchAttributes']?.(0)),
          ]),
        ]
      : []),
    poll(),
    ...disturb(),
    ...(short ? [{ op: 'sleep', ms: 1_400 } as const] : []),
    complete([...(prng.chance(0.3) ? [command('startTimer', { timerId: 't2', startToFireTimeout: seconds(9) })] : []), close()]),
    ...disturb(),
    poll(),
    complete([close()]),
    poll(),
    complete([close()], { returnNewWorkflowTask: true }),
    call('GetWorkflowExecutionHistory', {
      execution: { workflowId: '$W0', runId: '$RUN0' },
      historyEventFilterType: 'HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT',
    }),
  ];
}

function taskQueues(prng: Prng): readonly Step[] {
  const queue = { name: '$Q0', kind: 'TASK_QUEUE_KIND_NORMAL' };
  const calls: readonly (readonly [string, Fields])[] = [
    ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: 'TASK_QUEUE_TYPE_WORKFLOW' }],
    ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: 'TASK_QUEUE_TYPE_ACTIVITY', reportStats: true }],
    ['PollWorkflowTaskQueue', { taskQueue: queue, identity: 'worker' }],
    ['PollActivityTaskQueue', { taskQueue: queue, identity: 'worker' }],
    ['PollWorkflowTaskQueue', { taskQueue: { name: '$Q0-sticky', kind: 'TASK_QUEUE_KIND_STICKY', normalName: '$Q0' }, identity: 'worker' }],
    ['ResetStickyTaskQueue', { execution: { workflowId: '$W0', runId: '$RUN0' } }],
    ['RespondWorkflowTaskCompleted', { taskToken: '$TOKEN0', identity: 'worker' }],
    ['RespondWorkflowTaskFailed', { taskToken: '$TOKEN0', identity: 'worker', failure: { message: 'm' } }],
    ['RespondQueryTaskCompleted', { taskToken: '$TOKEN0' }],
    ['ShutdownWorker', { stickyTaskQueue: '$Q0-sticky', identity: 'worker', reason: 'r' }],
  ];
  const one = (): readonly Step[] => {
    const [method, request] = prng.pick(calls);
    return [call(method, prng.chance(0.7) ? mutated(prng, request) : request, { timeoutMs: prng.pick([2_200, 2_200, 1_500]), slot: 0 })];
  };
  return [...(prng.chance(0.6) ? [plainStart()] : []), ...(prng.chance(0.3) ? [poll()] : []), ...times(prng.int(2, 4), one)];
}

function administration(prng: Prng): readonly Step[] {
  const name = '$W0-namespace';
  const calls: readonly (readonly [string, Fields])[] = [
    [
      'RegisterNamespace',
      {
        namespace: name,
        description: 'd',
        ownerEmail: 'o@example.com',
        workflowExecutionRetentionPeriod: seconds(86_400),
        data: { k: 'v' },
      },
    ],
    ['RegisterNamespace', { namespace: name, workflowExecutionRetentionPeriod: seconds(3 * 86_400) }],
    ['DescribeNamespace', { namespace: name }],
    ['DescribeNamespace', { namespace: 'default' }],
    ['DescribeNamespace', { namespace: '', id: '00000000-0000-4000-8000-000000000000' }],
    ['ListSearchAttributes', { namespace: 'default' }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { DiffKeyword: 'INDEXED_VALUE_TYPE_KEYWORD' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { DiffKeyword: 'INDEXED_VALUE_TYPE_INT' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { WorkflowId: 'INDEXED_VALUE_TYPE_KEYWORD' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: {} }],
    ['RemoveSearchAttributes', { namespace: 'default', searchAttributes: ['NotThere'] }],
    ['RemoveSearchAttributes', { namespace: 'default', searchAttributes: ['WorkflowId'] }],
    ['StartWorkflowExecution', { ...startRequest(), namespace: name }],
  ];
  return times(prng.int(3, 6), () => {
    const [method, request] = prng.pick(calls);
    return [call(method, prng.chance(0.4) ? mutated(prng, request) : request)];
  });
}
