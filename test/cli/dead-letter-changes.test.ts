/** Merge, purge, plans and jobs of the command line, as processes, beside a service whose dead letters and jobs are the test's. */
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  emptyCounts,
  emptyJob,
  Operation,
  type ApplyPlanRequest,
  type DeadLetter,
  type PlanDeadLettersRequest,
} from '../../src/wire/generated/api/deadletter/service.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';
import { FakeDeadLetters, letter, refusal } from './fake-dead-letters.ts';
import { bin, perdureAt, perdureOnTerminal, wordsOf, type Ran } from './perdure-process.ts';

const children = childrenOfEachTest();
let fake: FakeDeadLetters;
beforeEach(async () => {
  fake = new FakeDeadLetters();
  await fake.listen();
});
afterEach(() => fake.close());

const perdure = (line: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> => perdureAt(fake.address, line, env);
const queue = 'admin queue dlq';
/** Processes start as slowly as the machine lets them. */
const patience = { timeout: 60_000 };

function letters(count: number, more: Partial<DeadLetter> = {}): void {
  for (let id = 0; id < count; id++) fake.letters.push(letter(id, more));
}

/** A command that waits for a job. */
function waiting(line: string): Child {
  const child = new Child(bin, wordsOf(line), { TEMPORAL_ADDRESS: fake.address });
  children.push(child);
  return child;
}

const plans = (): readonly PlanDeadLettersRequest[] => fake.requestsOf('PlanDeadLetters');

describe('merge', () => {
  test('its job says what became of hundreds of messages in a few lines, in their order', async () => {
    letters(60);
    fake.outcome = ({ messageId }) => (messageId < 25 ? 'failed' : messageId < 55 ? 'noop: the workflow is gone' : 'skipped: loop-guard');
    await perdure(`${queue} merge --category transfer`);
    const { out } = await perdure(`${queue} job describe job-1`);
    const lines = out
      .split('\n')
      .filter((line) => (/^(failed|skipped|nothing|…)/.test(line) && line.includes('message')) || line.startsWith('…'));
    expect(lines).toHaveLength(23);
    expect(lines[0]).toContain('failed: message 0 ');
    expect(lines.slice(20)).toEqual([
      '… and 5 more in -o json',
      'skipped: messages 55, 56, 57, 58, 59  loop-guard',
      'nothing left to do: messages 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, … (30)  the workflow is gone',
    ]);
  });

  test('of all: a line of totals', async () => {
    letters(12);
    expect(await perdure(`${queue} merge --category transfer`)).toEqual({ code: 0, out: 'merged 12, failed 0, skipped 0\n', err: '' });
  });

  test('of what stands in more stretches than a plan may have goes in parts, of one group', async () => {
    letters(12);
    fake.refuse = (method, nth) =>
      method === 'PlanDeadLetters' && (nth === 1 || nth === 3) ? refusal(status.RESOURCE_EXHAUSTED, 'no', 'too-many-stretches') : undefined;
    const merged = await perdure(`${queue} merge --category transfer --namespace orders --min-message-id 2`);
    expect(merged).toEqual({ code: 0, out: 'merged 10, failed 0, skipped 0\n', err: '' });
    const parts = plans().map(({ selection }) => [selection?.minMessageId, selection?.maxMessageId]);
    expect(parts).toEqual([
      [2, undefined],
      [2, 6],
      [7, 11],
      [7, 9],
      [10, 11],
    ]);
    expect(
      new Set(
        plans()
          .slice(1)
          .map(({ groupId }) => groupId),
      ).size,
    ).toBe(1);
  });

  test('that is refused because calls come too fast is not asked for in parts', async () => {
    letters(12);
    fake.refuse = (method) =>
      method === 'PlanDeadLetters'
        ? refusal(status.RESOURCE_EXHAUSTED, 'rate limit exceeded: in more than 10000 stretches of message ids')
        : undefined;
    expect(await perdure(`${queue} merge --category transfer`)).toMatchObject({ code: 1, err: expect.stringContaining('rate limit') });
    expect(plans()).toHaveLength(1);
  });

  test('of what fails again ends with 3, names it, and says that it remains', async () => {
    letters(12);
    fake.outcome = ({ messageId }) => (messageId === 4 ? 'failed' : messageId === 9 ? 'skipped: loop-guard' : '');
    expect(await perdure(`${queue} merge --category transfer`)).toEqual({
      code: 3,
      out:
        'merged 10, failed 1, skipped 1\nremaining 2\n' +
        '  message 4 of transfer/active  task 1004 TASK_TYPE_TRANSFER_ACTIVITY_TASK  Internal: again (as before)\n' +
        '  message 9 of transfer/active  skipped: loop-guard\n',
      err: '',
    });
    const { code, out } = await perdure(`${queue} merge --category transfer -o json`);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toEqual({
      jobIds: ['job-2'],
      operation: 'merge',
      selected: 12,
      merged: 10,
      purged: 0,
      failed: 1,
      skipped: 1,
      gone: 0,
      notTried: 0,
      remaining: 2,
      failures: [
        {
          queue: 'transfer/active',
          messageId: 4,
          taskId: 1_004,
          taskType: 'TASK_TYPE_TRANSFER_ACTIVITY_TASK',
          errorType: 'Internal',
          errorMessage: 'again',
          sameCause: true,
        },
      ],
      skips: [{ queue: 'transfer/active', messageId: 9, reason: 'loop-guard' }],
      mergedNoop: 0,
      noops: [],
    });
  });

  test('says where nothing was left to do, and why', async () => {
    letters(3);
    fake.outcome = ({ messageId }) => (messageId === 1 ? 'noop: the workflow is closed' : '');
    expect(await perdure(`${queue} merge --category transfer`)).toEqual({
      code: 0,
      out:
        'merged 3, failed 0, skipped 0\nmerged with nothing left to do 1\n' +
        '  message 1 of transfer/active  nothing left to do: the workflow is closed\n',
      err: '',
    });
  });

  test('names twenty failures, and how many more there are', async () => {
    letters(150);
    fake.outcome = () => 'failed';
    const lines = (await perdure(`${queue} merge --category transfer`)).out.trimEnd().split('\n');
    expect(lines.slice(0, 2)).toEqual(['merged 0, failed 150, skipped 0', 'remaining 150']);
    expect(lines).toHaveLength(23);
    expect(lines.at(-1)).toBe('  … and 130 more');
  });

  test('asks for the pace, the steps and the reason of its flags', async () => {
    letters(3);
    const flags = '--rps 2.5 --concurrency 4 --task-timeout 90s --canary --max-failures 2 --override-loop-guard';
    await perdure(`${queue} merge --category transfer --workflow-id order-1 ${flags} --reason "the dependency is back"`);
    expect(plans()).toEqual([
      expect.objectContaining({
        operation: 1,
        options: { rps: 2.5, concurrency: 4, taskTimeoutMs: 90_000, canary: true, maxFailures: 2, overrideLoopGuard: true },
        reason: 'the dependency is back',
        groupId: '',
        selection: expect.objectContaining({ workflowId: 'order-1' }),
      }),
    ]);
    fake.asked.length = 0;
    await perdure(`${queue} merge --category transfer`);
    expect(plans()[0]?.options).toEqual({
      rps: undefined,
      concurrency: undefined,
      taskTimeoutMs: 0,
      canary: false,
      maxFailures: 0,
      overrideLoopGuard: false,
    });
  });

  test('of both replication queues makes two jobs of one group, and of the one that has dead letters one', async () => {
    const fromB = (messageId: number, category: string): DeadLetter => letter(messageId, { queue: { category, sourceCluster: 'b' } });
    fake.letters.push(fromB(0, 'replication'), fromB(1, 'replication'), fromB(0, 'namespace-replication'));
    expect((await perdure('admin dlq merge --cluster b')).out).toBe('merged 3, failed 0, skipped 0\n');
    const [first, second] = plans();
    expect(first?.groupId).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.groupId).toBe(first?.groupId);
    fake.asked.length = 0;
    expect((await perdure('admin dlq merge --cluster b --message-id 1')).out).toBe('merged 1, failed 0, skipped 0\n');
    expect(plans().map((plan) => plan.queue?.category)).toEqual(['replication']);
    fake.asked.length = 0;
    expect(await perdure('admin dlq merge --cluster b --message-id 0')).toMatchObject({ code: 2, out: '' });
    expect(plans()).toEqual([]);
  });

  test('of nothing is a success for a range, a filter and all, and a failure for the one that was named', async () => {
    letters(3);
    for (const selector of ['--min-message-id 7', '--query "Cause = \'none\'"', '--workflow-id nobody', '--namespace nobody']) {
      expect(await perdure(`${queue} merge --category transfer ${selector}`)).toEqual({
        code: 0,
        out: 'merged 0, failed 0, skipped 0\n',
        err: '',
      });
    }
    expect(await perdure(`${queue} merge --category timer -o json`)).toMatchObject({
      code: 0,
      out: expect.stringContaining('"selected":0'),
    });
    const gone = await perdure(`${queue} merge --category transfer --message-id 41`);
    expect(gone).toEqual({ code: 1, out: '', err: 'perdure: NOT_FOUND: message 41 is already merged\n' });
    expect(await perdure(`${queue} merge --category transfer --message-id 41 --message-id 41`), 'named twice').toEqual(gone);
    const bothGone = await perdure(`${queue} merge --category transfer --message-id 41 --message-id 42`);
    expect(bothGone).toEqual({ code: 1, out: '', err: 'perdure: NOT_FOUND: none of the messages 41, 42 is selected\n' });
    const noTask = await perdure(`${queue} purge --category transfer --task-id 7`);
    expect(noTask).toEqual({ code: 1, out: '', err: 'perdure: NOT_FOUND: no dead letter has task id 7\n' });
    expect(fake.requestsOf('ApplyPlan')).toEqual([]);
  });

  test('of one dead letter that does not fit says what each queue knows of it', async () => {
    fake.letters.push(letter(5, { queue: { category: 'namespace-replication', sourceCluster: 'b' } }));
    expect(await perdure('admin dlq merge --cluster b --message-id 5 --namespace billing')).toEqual({
      code: 1,
      out: '',
      err: 'perdure: NOT_FOUND: message 5 is not selected\nIt is in namespace-replication/b, but another flag excludes it.\n',
    });
    expect(await perdure('admin dlq purge --cluster b --message-id 6')).toEqual({
      code: 1,
      out: '',
      err:
        'perdure: NOT_FOUND: message 6 is in none of the queues\n' +
        '  replication/b: NOT_FOUND: message 6 is already merged\n' +
        '  namespace-replication/b: NOT_FOUND: message 6 is already merged\n',
    });
    expect(await perdure(`${queue} merge --category replication --message-id 5`)).toEqual({
      code: 1,
      out: '',
      err: 'perdure: NOT_FOUND: message 5 is in none of the queues\n',
    });
  });

  test('of dead letters that another job works on says which', async () => {
    letters(2);
    fake.refuse = (method) => (method === 'ApplyPlan' ? refusal(status.FAILED_PRECONDITION, 'job job-7 works on message 1') : undefined);
    const ran = await perdure(`${queue} merge --category transfer`);
    expect(ran).toEqual({ code: 1, out: '', err: 'perdure: FAILED_PRECONDITION: job job-7 works on message 1\n' });
  });

  test.each([
    ['merge --category transfer --rps 0.01', '--rps: expected 0.1 to 10000'],
    ['merge --category transfer --concurrency 65', '--concurrency: expected 1 to 64, got "65"'],
    ['merge --category transfer --task-timeout 1h', '--task-timeout: expected 1s to 10m, got "1h"'],
    ['merge --category transfer --max-failures 2', '--max-failures goes with --canary'],
    ['merge --category transfer --override-loop-guard', '--override-loop-guard needs --reason'],
    [`merge --category transfer --reason ${'x'.repeat(501)}`, '--reason has 501 characters, and may have 500'],
    ['purge --category transfer --canary', 'unknown flag --canary'],
    ['job update job-1', 'job update needs --rps or --concurrency'],
    ['job describe', 'JOB is missing'],
    ['restore --category transfer', 'restore needs --message-id or --job'],
  ])('%s ends with 2 and changes nothing', async (line, said) => {
    letters(1);
    const { code, out, err } = await perdure(`${queue} ${line}`);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(fake.jobs).toEqual([]);
  });
});

describe('purge', () => {
  test('of a range: a line of totals', async () => {
    letters(20);
    const { code, out } = await perdure(`${queue} purge --category transfer --min-message-id 3 --max-message-id 14 --reason "a test"`);
    expect({ code, out }).toEqual({ code: 0, out: 'purged 12\n' });
    expect(fake.jobs).toMatchObject([{ operation: 2, counts: { purged: 12 } }]);
    expect(plans()[0]).toMatchObject({ reason: 'a test', selection: { minMessageId: 3, maxMessageId: 14 } });
  });

  test('where a confirmation is asked for and nobody can give it ends with 2', async () => {
    letters(2);
    const careful = { PERDURE_CONFIRM: 'always' };
    const refused = await perdure(`${queue} purge --category transfer`, careful);
    expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringContaining('a purge needs --yes here') });
    expect(fake.asked).toEqual([]);
    expect((await perdure(`${queue} purge --category transfer --yes`, careful)).out).toBe('purged 2\n');
    expect((await perdure(`${queue} merge --category transfer`, careful)).code).toBe(0);
  });
});

describe('questions on a terminal', () => {
  const changed = (): number => fake.requestsOf('ApplyPlan').length;

  test.each([
    ['merge', 'y\\n', 0, 'Merge all: 3 dead letters (3 of transfer/active)? [y/N] '],
    ['merge', '\\n', 1, 'nothing was changed'],
    ['merge --max-message-id 1', '', 0, 'merged 2, failed 0, skipped 0'],
    ['purge --max-message-id 1', 'Yes\\n', 0, 'Purge 2 dead letters (2 of transfer/active)? [y/N] '],
    ['purge --max-message-id 1', 'n\\n', 1, 'nothing was changed'],
    ['purge', '3\\n', 0, 'Type their number to continue: '],
    ['purge', 'y\\n', 1, 'nothing was changed'],
    ['purge --yes', '', 0, 'purged 3'],
    ['purge -o json', '', 0, '"purged":3'],
    ['purge --namespace orders', '2\\n', 1, 'nothing was changed'],
  ])('%s, answered with %j', async (line, typed, code, said) => {
    letters(3);
    const ran = await perdureOnTerminal(fake.address, `${queue} ${line} --category transfer`, typed);
    expect(ran.screen).toContain(said);
    expect(ran.code).toBe(code);
    expect(changed()).toBe(code === 0 ? 1 : 0);
  });
});

describe('plans', () => {
  test('a dry run shows causes and the plan, and changes nothing; apply carries it out', async () => {
    letters(3);
    fake.letters.push(letter(7, { cause: 'permanent-error', errorType: 'DataLoss' }));
    for (const line of ['merge --dry-run', 'plan merge']) {
      expect(await perdure(`${queue} ${line} --category transfer`)).toMatchObject({
        code: 0,
        out: expect.stringMatching(
          /^4 dead letters of transfer\/active would be merged\nCOUNT +CAUSE +ERROR\n3 +retries-exhausted +Internal\n1 +permanent-error +DataLoss\nUntil 2024-01-01T02:00:00.000Z: perdure admin queue dlq apply plan-\d\n$/,
        ),
      });
    }
    expect(fake.requestsOf('ApplyPlan')).toEqual([]);
    const { out } = await perdure(`${queue} purge --dry-run --category transfer --query "ErrorType = 'DataLoss'" -o json`);
    expect(JSON.parse(out)).toMatchObject({
      planned: true,
      planIds: ['plan-3'],
      operation: 'purge',
      selected: 1,
      purged: 0,
      remaining: 1,
      ids: [[[7, 7]]],
      causes: [{ queue: 'transfer/active', cause: 'permanent-error', errorType: 'DataLoss', count: 1 }],
    });
    expect(await perdure(`${queue} apply plan-3 --hash abcd`)).toEqual({ code: 0, out: 'purged 1\n', err: '' });
    expect(fake.requestsOf<ApplyPlanRequest>('ApplyPlan')).toEqual([{ planId: 'plan-3', hash: 'abcd' }]);
    expect(await perdure(`${queue} apply plan-9`)).toMatchObject({ code: 1, err: 'perdure: NOT_FOUND: no plan plan-9\n' });
    expect((await perdure(`${queue} plan purge --category timer`)).out).toBe('no dead letter is selected\n');
  });
});

describe('a selection that needs several plans', () => {
  const line = `${queue} merge --category transfer --query "Cause = 'retries-exhausted'"`;
  const states = (): readonly string[] => fake.jobs.map(({ state }) => state);

  /** Twelve letters in three parts: 0–5, 6–8 and 9–11. */
  beforeEach(() => {
    letters(12);
    fake.runsUntil = 1;
    fake.refuse = (method, nth) =>
      method === 'PlanDeadLetters' && (nth === 1 || nth === 3) ? refusal(status.RESOURCE_EXHAUSTED, 'no', 'too-many-stretches') : undefined;
  });
  const refuseAlso = (refuse: FakeDeadLetters['refuse']): void => {
    const before = fake.refuse;
    fake.refuse = (method, nth) => before(method, nth) ?? refuse(method, nth);
  };

  test('has one job at a time, and Ctrl-C says what is done, what goes on and what is left', async () => {
    const child = waiting(line);
    await expect.poll(states, patience).toEqual(['running']);
    fake.finish('job-1');
    await expect.poll(states, patience).toEqual(['completed', 'running']);
    await expect.poll(() => fake.requestsOf('DescribeJob').length, patience).toBe(2);
    child.process.kill('SIGINT');
    expect(await child.exit).toEqual({ code: 130, signal: null });
    expect(child.err).toBe(
      'perdure: program interrupted\n' +
        'So far: merged 7, failed 0, skipped 0\n' +
        'The job continues:\nperdure admin queue dlq job watch job-2\n' +
        'Not started: 3 dead letters of transfer/active. To continue with them, repeat the command with these additional flags: ' +
        '--min-message-id 9 --max-message-id 11\n',
    );
    fake.runsUntil = undefined;
    expect((await perdure(`${line} --min-message-id 9 --max-message-id 11`)).out).toBe('merged 3, failed 0, skipped 0\n');
  });

  test('goes on with the others when parts have failures, and no further than a part that is cancelled', async () => {
    fake.outcome = ({ messageId }) => (messageId === 0 ? 'failed' : '');
    const child = waiting(line);
    await expect.poll(states, patience).toEqual(['running']);
    fake.finish('job-1');
    await expect.poll(states, patience).toEqual(['completed-with-failures', 'running']);
    await perdure(`${queue} job cancel job-2`);
    expect(await child.exit).toEqual({ code: 3, signal: null });
    expect(child.out).toMatch(/^merged 6, failed 1, skipped 0\nnot tried 3\nremaining 6\n/);
    expect(child.err).toMatch(
      /^perdure: job job-2 was cancelled\nperdure: Not started: 3 dead letters .* --min-message-id 9 --max-message-id 11\n$/,
    );
    expect(states()).toHaveLength(2);
  });

  test.each([
    [status.FAILED_PRECONDITION, 'plan-expired'],
    [status.NOT_FOUND, 'plan-not-found'],
  ] as const)('plans a part again, of the same ids, when the server keeps its plan no longer: %i %s', async (code, reason) => {
    fake.runsUntil = undefined;
    refuseAlso((method, nth) => (method === 'ApplyPlan' && nth === 2 ? refusal(code, 'no', reason) : undefined));
    expect(await perdure(line)).toEqual({ code: 0, out: 'merged 12, failed 0, skipped 0\n', err: '' });
    expect(plans().at(-1)?.selection).toMatchObject({ minMessageId: 6, maxMessageId: 8, query: "Cause = 'retries-exhausted'" });
  });

  test('goes on with a part whose job has started though its answer was lost', async () => {
    fake.runsUntil = undefined;
    fake.losesAnswer = (method, nth) => method === 'ApplyPlan' && nth === 2;
    expect(await perdure(line)).toEqual({ code: 0, out: 'merged 12, failed 0, skipped 0\n', err: '' });
    expect(fake.requestsOf('ApplyPlan')).toHaveLength(3);
  });

  test('says so where nobody knows whether the job of a part has started', async () => {
    fake.runsUntil = undefined;
    fake.losesAnswer = (method, nth) => method === 'ApplyPlan' && nth === 2;
    refuseAlso((method) => (method === 'DescribeJob' ? refusal(status.NOT_FOUND, 'not there, or not yet') : undefined));
    const { code, err } = await perdure(line);
    expect(code).toBe(4);
    expect(err).toContain('Its job may have started: perdure admin queue dlq job describe plan-2\n');
    expect(err).toContain('So far: merged 6, failed 0, skipped 0\n');
  });

  test('with --no-wait begins as many jobs as the queue takes, and says how the rest is started', async () => {
    refuseAlso((method, nth) =>
      method === 'ApplyPlan' && nth === 3 ? refusal(status.RESOURCE_EXHAUSTED, 'no', 'too-many-jobs') : undefined,
    );
    const { code, out, err } = await perdure(`${line} --no-wait -o json`);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ jobIds: ['job-1', 'job-2'], selected: 12, remaining: 10, notTried: 3 });
    expect(err).toMatch(/^perdure: Not started: 3 dead letters .* --min-message-id 9 --max-message-id 11\n$/);
  });
});

describe('while a job works', () => {
  beforeEach(() => {
    letters(1_000);
    fake.runsUntil = 370;
  });
  const describes = (): number => fake.requestsOf('DescribeJob').length;

  test('--no-wait prints its id and ends', async () => {
    const { code, out } = await perdure(`${queue} merge --category transfer --no-wait`);
    expect(code).toBe(0);
    expect(out).toBe('job job-1: merge of 1000 dead letters of transfer/active\nWatch it: perdure admin queue dlq job watch job-1\n');
    const json = await perdure(`${queue} merge --category transfer --no-wait -o json`);
    expect(JSON.parse(json.out)).toMatchObject({ jobIds: ['job-2'], selected: 1_000, merged: 370, remaining: 630 });
    expect(describes()).toBe(0);
  });

  test('Ctrl-C ends the wait with 130 and says how the job is watched', async () => {
    const child = waiting(`${queue} merge --category transfer`);
    await expect.poll(describes, patience).toBe(1);
    child.process.kill('SIGINT');
    expect(await child.exit).toEqual({ code: 130, signal: null });
    expect(child.err).toBe('perdure: program interrupted\nThe job continues:\nperdure admin queue dlq job watch job-1\n');
    expect(fake.jobs[0]?.state).toBe('running');
    const watch = waiting(`${queue} job watch job-1`);
    await expect.poll(describes, patience).toBe(3);
    fake.finish('job-1');
    expect(await watch.exit).toEqual({ code: 0, signal: null });
    expect(watch.out).toBe('merged 1000, failed 0, skipped 0\n');
  });

  test('how far it is stands in lines for whoever asked, and nowhere else where there is no terminal', async () => {
    const silent = waiting(`${queue} merge --category transfer`);
    const told = waiting(`${queue} merge --category transfer --log-level info`);
    await told.seen('err', /merging: 370 of 1000\n/);
    await expect.poll(describes, patience).toBe(2);
    for (const job of ['job-1', 'job-2']) fake.finish(job);
    expect([(await silent.exit).code, (await told.exit).code]).toEqual([0, 0]);
    expect(silent.err).toBe('');
    expect(told.err).toBe('merging: 370 of 1000\n');
  });

  test('a terminal shows a bar, which goes with the end', async () => {
    const ran = perdureOnTerminal(fake.address, `${queue} merge --category transfer --yes`, '');
    await expect.poll(describes, patience).toBeGreaterThan(1);
    fake.change('job-1', { counts: { ...fake.jobs[0]!.counts!, merged: 700 } });
    const before = describes();
    await expect.poll(describes, patience).toBeGreaterThan(before);
    fake.finish('job-1');
    const { code, screen } = await ran;
    expect(code).toBe(0);
    expect(screen).toContain('[#######-------------] merging: 370 of 1000');
    expect(screen).toMatch(/\[#{14}-{6}\] merging: 700 of 1000, \d+(\.\d)?\/s, \d+ s left/);
    expect(screen.slice(screen.lastIndexOf('\r'))).toBe('\rmerged 1000, failed 0, skipped 0\n');
    expect(screen).not.toContain('\u001b');
  });

  test('more failures than were allowed pause it: 3, and how it goes on', async () => {
    const child = waiting(`${queue} merge --category transfer --canary`);
    await expect.poll(describes, patience).toBe(1);
    fake.change('job-1', { state: 'paused', stateReason: 'failure-budget' });
    expect(await child.exit).toEqual({ code: 3, signal: null });
    expect(child.out).toBe('merged 370, failed 0, skipped 0\nremaining 630\n');
    expect(child.err).toBe('perdure: job job-1 is paused: failure-budget\nResume it with: perdure admin queue dlq job resume job-1\n');
  });

  test('an operator may pause it, and the wait goes on', async () => {
    const child = waiting(`${queue} merge --category transfer`);
    await expect.poll(describes, patience).toBe(1);
    expect((await perdure(`${queue} job pause job-1 --reason lunch`)).out).toMatch(/^state +paused$/m);
    expect(
      await child.seen('err', /job-1 is paused \(operator\); resume it with: perdure admin queue dlq job resume job-1\n/),
    ).toBeTruthy();
    expect((await perdure(`${queue} job resume job-1`)).out).toMatch(/^state +running$/m);
    fake.finish('job-1');
    expect((await child.exit).code).toBe(0);
  });

  test('a cancelled job leaves dead letters: 3; one that failed as a whole: 1', async () => {
    const cancelled = waiting(`${queue} merge --category transfer`);
    await expect.poll(describes, patience).toBe(1);
    expect(JSON.parse((await perdure(`${queue} job cancel job-1 -o json`)).out)).toMatchObject({
      jobId: 'job-1',
      state: 'cancelled',
      canceled: true,
    });
    expect((await cancelled.exit).code).toBe(3);
    expect(cancelled.err).toBe('perdure: job job-1 was cancelled\n');
    const again = await perdure(`${queue} job cancel job-1 -o json`);
    expect(again).toMatchObject({ code: 0, err: 'perdure: job job-1 has already ended\n' });
    expect(JSON.parse(again.out)).toMatchObject({ canceled: false });
    const failed = waiting(`${queue} merge --category transfer`);
    await expect.poll(() => fake.jobs.length, patience).toBe(2);
    fake.change('job-2', { state: 'failed', stateReason: 'its queue is gone' });
    expect((await failed.exit).code).toBe(1);
    expect(failed.err).toBe('perdure: job job-2 failed: its queue is gone\n');
  });

  test('a server that goes away: 4, and the job is named', async () => {
    const child = waiting(`${queue} merge --category transfer`);
    await expect.poll(describes, patience).toBe(1);
    fake.close();
    expect((await child.exit).code).toBe(4);
    expect(child.err).toContain('The job continues:\nperdure admin queue dlq job watch job-1\n');
  });

  test('jobs are listed, described and given another pace', async () => {
    await perdure(`${queue} merge --category transfer --no-wait`);
    await perdure(`${queue} purge --category transfer --message-id 3 --no-wait`);
    const { out } = await perdure(`${queue} job list`);
    expect(out).toMatch(
      /^JOB +OPERATION +QUEUE +STATE +SELECTED +DONE +FAILED +REMAINING +CREATED +BY\njob-2 +purge .*\njob-1 +merge +transfer\/active +running +1000 +370 +0 +630 .*\n$/,
    );
    expect((await perdure('admin dlq job list --time-format raw')).out).toBe((await perdure(`${queue} job list --time-format raw`)).out);
    expect(JSON.parse((await perdure('admin dlq job list --cluster cluster-b -o json')).out)).toEqual([]);
    expect(JSON.parse((await perdure(`${queue} job list --limit 1 -o json`)).out)).toMatchObject([
      { jobId: 'job-2', operation: 'purge', ids: [[3, 3]] },
    ]);
    for (const category of ['transfer', '1']) {
      const listed = JSON.parse((await perdure(`${queue} job list --category ${category} -o json`)).out);
      expect(listed).toMatchObject([{ jobId: 'job-2' }, { jobId: 'job-1' }]);
    }
    for (const category of ['timer', '2']) {
      expect(await perdure(`${queue} job list --category ${category}`)).toMatchObject({ out: '', err: 'No jobs to show.\n' });
    }
    expect((await perdure(`${queue} job describe job-1`)).out).toMatch(/^queue +transfer\/active$/m);
    expect(JSON.parse((await perdure(`${queue} job update job-1 --rps 20 -o json`)).out)).toMatchObject({ jobId: 'job-1', rps: 20 });
    expect(fake.requestsOf('UpdateJob')).toEqual([{ jobId: 'job-1', rps: 20, concurrency: undefined, reason: '' }]);
    expect(await perdure(`${queue} job describe job-9`)).toMatchObject({ code: 1, err: 'perdure: NOT_FOUND: no job job-9\n' });
  });
});

test('restore asks for dead letters, or for all of a job', async () => {
  expect(await perdure(`${queue} restore --category transfer --message-id 3 --message-id 4`)).toEqual({
    code: 0,
    out: 'restored 2\n',
    err: '',
  });
  await perdure(`${queue} restore --job job-1`);
  expect(fake.requestsOf('RestoreDeadLetters')).toEqual([
    { queue: { category: 'transfer', sourceCluster: '' }, messageIds: [3, 4], jobId: '', reason: '' },
    { queue: undefined, messageIds: [], jobId: 'job-1', reason: '' },
  ]);
});

test('restore of a job that is of another queue than the one that is named changes nothing', async () => {
  fake.letters.push(letter(0), letter(1, { queue: { category: 'namespace-replication', sourceCluster: 'b' } }));
  await perdure(`${queue} purge --category transfer`);
  await perdure('admin dlq purge --cluster b');
  for (const [line, of] of [
    [`${queue} restore --category timer --job job-1`, 'job job-1 is of transfer/active, and another queue is named'],
    ['admin dlq restore --cluster b --job job-1', 'job job-1 is of transfer/active, and another queue is named'],
    ['admin dlq restore --cluster b --dlq-type replication --job job-2', 'job job-2 is of namespace-replication/b, and another'],
  ] as const) {
    expect(await perdure(line)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(of) });
  }
  expect(fake.requestsOf('RestoreDeadLetters')).toEqual([]);
  await perdure(`${queue} restore --category transfer --job job-1`);
  await perdure('admin dlq restore --cluster b --job job-2');
  expect(fake.requestsOf('RestoreDeadLetters')).toMatchObject([
    { queue: { category: 'transfer', sourceCluster: '' }, jobId: 'job-1' },
    { queue: { category: 'namespace-replication', sourceCluster: 'b' }, jobId: 'job-2' },
  ]);
});

test.each([
  ['skipped for their window is over', { restored: 1, skipped: 1, remaining: 1 }, 3, 'restored 1, failed 0, skipped 1\nremaining 1\n'],
  ['not tried', { restored: 1, notTried: 1, remaining: 1 }, 3, 'restored 1\nnot tried 1\nremaining 1\n'],
  ['back already', { restored: 1, gone: 1, remaining: 0 }, 0, 'restored 1\ngone 1: already in the queue\n'],
])('a restore of dead letters of which one is %s', async (_, some, code, out) => {
  const counts = { ...emptyCounts(), selected: 2, ...some };
  fake.jobs.push({ ...emptyJob(), jobId: 'job-1', operation: Operation.RESTORE, state: 'completed', counts });
  expect(await perdure(`${queue} job watch job-1`)).toEqual({ code, out, err: '' });
});
