/** Who did what to which dead letters, beside a whole server on a file that is killed: each act is reported, once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { withClient } from '../support/with-client.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';
import { bin, perdureAt } from './perdure-process.ts';

const children = childrenOfEachTest();
const folder = mkdtempSync(join(tmpdir(), 'perdure-audit-'));
afterAll(() => rmSync(folder, { recursive: true }));
const patience = { timeout: 60_000, interval: 200 };
const fault = 'task=TASK_TYPE_TRANSFER_WORKFLOW_TASK,kind=permanent,error=the dependency is away';

type Told = Readonly<Record<string, unknown>>;

async function started(file: string): Promise<{ readonly child: Child; readonly address: string }> {
  const child = new Child(bin, ['server', 'start-dev', '--port', '0', '--ip', '127.0.0.1', '--db-filename', file, '--dev-faults', fault]);
  children.push(child);
  const port = /\d+$/.exec(await child.seen('out', /^Server: +\S+:\d+(?=\n)/m))?.[0] ?? '';
  return { child, address: `127.0.0.1:${port}` };
}

test('is read with a command, and outlives kill -9', { timeout: 120_000 }, async () => {
  const file = join(folder, 'x.db');
  const first = await started(file);
  let { address } = first;
  const perdure = async (line: string) => await perdureAt(address, `admin queue dlq ${line}`);
  const audit = async (flags = '--limit 0'): Promise<readonly Told[]> => {
    const { code, out } = await perdure(`audit ${flags} -o jsonl`);
    return code === 0
      ? out
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Told)
      : [];
  };
  expect(await perdure('audit --job nobodys')).toMatchObject({ code: 0, out: '', err: 'No audit entries to show.\n' });
  await withClient(address, async ({ workflow }) => {
    for (const id of ['a', 'b', 'c', 'd']) await workflow.start('Order', { taskQueue: 'orders', workflowId: id });
  });
  await expect.poll(async () => (await perdure('count --category transfer')).out, patience).toBe('4\n');
  expect(await perdure('purge --category transfer --min-message-id 1 --max-message-id 2 --reason "never wanted"')).toMatchObject({
    code: 0,
  });
  // Between what it did and what it told of that.
  first.child.process.kill('SIGKILL');
  await first.child.exit;

  ({ address } = await started(file));
  await expect
    .poll(async () => (await audit()).map(({ action }) => action), patience)
    .toEqual(expect.arrayContaining(['finish', 'purge', 'apply', 'plan', 'dead-letter']));
  const entries = await audit();
  const peer: unknown = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
  const anonymous = { subject: 'anonymous', authType: '', peer };
  expect(entries.find(({ action }) => action === 'plan')).toMatchObject({ actor: anonymous, messageIds: [1, 2], reason: 'never wanted' });
  expect(entries.find(({ action }) => action === 'apply')).toMatchObject({
    actor: anonymous,
    planHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(entries.find(({ action }) => action === 'purge')).toMatchObject({ messageIds: [1, 2], outcome: 'purged', reason: 'never wanted' });
  expect(entries.find(({ action }) => action === 'finish')).toMatchObject({ outcome: 'completed: purged 2' });
  const made = entries.filter(({ action }) => action === 'dead-letter').flatMap(({ messageIds }) => messageIds as number[]);
  expect(made.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3]);
  expect(new Set(entries.map(({ source, offset }) => `${String(source)} ${String(offset)}`)).size).toBe(entries.length);

  const ofOne = (await audit('--category transfer --message-id 1')).map(({ action }) => action);
  expect(ofOne).toEqual(expect.arrayContaining(['finish', 'purge', 'apply', 'plan', 'dead-letter']));
  expect((await audit('--category transfer --message-id 0')).map(({ action }) => action)).toEqual(['dead-letter']);
  expect((await perdure('audit')).out).toMatch(/^TIME +ACTION [^]* finish +dlq\.\S+transfer\.active +1, 2 +completed: purged 2 /);
  expect(await perdure('audit --message-id 1')).toMatchObject({ code: 2 });

  // What the killed process purged, this one undoes: all that the job purged, once.
  const jobs = JSON.parse((await perdure('job list -o json')).out) as readonly Told[];
  const undo = `restore --job ${String(jobs[0]?.['jobId'])} --reason "they were wanted"`;
  expect(await perdure(undo)).toMatchObject({ code: 0, out: 'restored 2\n' });
  const letters = JSON.parse((await perdure('read --category transfer')).out) as readonly Told[];
  expect(letters.map(({ messageId, generation }) => [messageId, generation])).toEqual([0, 1, 2, 3].map((id) => [id, 0]));
  expect(await perdure(undo)).toMatchObject({ code: 0, out: expect.stringMatching(/^restored 0\n/) });
  const [restoring] = (JSON.parse((await perdure('job list -o json')).out) as readonly Told[]).filter(
    ({ operation }) => operation === 'restore',
  );
  expect(await perdure(`restore --job ${String(restoring?.['jobId'])}`)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/FAILED_PRECONDITION: job \S+ is a restore: only a purge can be undone/),
  });
  await expect
    .poll(async () => (await audit()).filter(({ action }) => action === 'restore'), patience)
    .toMatchObject([{ messageIds: [1, 2], reason: 'they were wanted', actor: { subject: 'anonymous' } }]);
});
