/**
 * Every command over dead letters, as a process of its own beside a whole server: what it prints in each form, and with what it exits. The server's
 * first workflow tasks fail for good in the namespace `broken`.
 */
import { expect } from 'vitest';
import { withClient } from '../support/with-client.ts';
import { perdureAt, type Ran } from './perdure-process.ts';

export const workflowTasksFail = {
  taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
  namespace: 'broken',
  errorMessage: 'the dependency is away',
  kind: 'permanent',
  share: 1,
} as const;

const queue = 'admin queue dlq';
const ofTransfer = '--category transfer';
const patience = { timeout: 60_000, interval: 200 };
const escape = String.fromCodePoint(27);

type Letter = Readonly<Record<string, unknown>>;

export class CommandsOverLetters {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  /** Nothing that goes into a pipe has colours in it. */
  async perdure(line: string): Promise<Ran> {
    const ran = await perdureAt(this.#address, `${queue} ${line}`);
    expect(`${ran.out}${ran.err}`).not.toContain(escape);
    return ran;
  }

  async json(line: string): Promise<unknown> {
    const { code, out, err } = await this.perdure(line);
    expect(err, line).toBe('');
    expect(code, line).toBe(0);
    return JSON.parse(out);
  }

  async all(): Promise<void> {
    await this.mostImportant();
    await this.plans();
  }

  async mostImportant(): Promise<void> {
    await this.#start('a', 'b', 'c', 'd');
    await expect.poll(async () => (await this.perdure(`count ${ofTransfer}`)).out, patience).toBe('4\n');
    // On Kafka the topics of other categories may be opened later than this one's; `list` says so until then.
    await expect.poll(async () => (await this.perdure('list')).err, patience).toBe('');
    await this.looks();
    await this.refusals();
    await this.purges();
    await this.merges();
  }

  async #start(...ids: readonly string[]): Promise<void> {
    await withClient(
      this.#address,
      async ({ workflow }) => {
        for (const workflowId of ids) await workflow.start('Order', { taskQueue: 'orders', workflowId });
      },
      'broken',
    );
  }

  async looks(): Promise<void> {
    const [letters, table, lines, long, listed, all, counted, shown, groups] = await Promise.all([
      this.json('read --category 1 --payload'),
      this.perdure(`read ${ofTransfer} -o text --limit 2`),
      this.perdure(`read ${ofTransfer} -o jsonl --page-size 1`),
      this.json(`read ${ofTransfer} --long --cluster active --workflow-id b`),
      this.perdure('list'),
      this.json('list -o json'),
      this.json(`count ${ofTransfer} --namespace broken -o json`),
      this.perdure(`show ${ofTransfer} --message-id 1`),
      this.json(`groups ${ofTransfer} --by cause -o json`),
    ]);
    const read = letters as readonly Letter[];
    expect(read.map(({ messageId }) => messageId)).toEqual([0, 1, 2, 3]);
    expect(new Set(read.map(({ workflowId }) => workflowId))).toEqual(new Set(['a', 'b', 'c', 'd']));
    expect(read[0]).toMatchObject({
      taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
      ...{ category: 'transfer', sourceCluster: 'active', targetCluster: 'active', state: 'open', namespace: 'broken' },
      ...{ workflowType: 'Order', cause: 'permanent-error', generation: 0, errorMessage: 'the dependency is away' },
      payload: expect.objectContaining({ taskQueue: 'orders' }),
    });
    const rows = table.out.trimEnd().split('\n');
    expect(rows[0]).toMatch(/^MESSAGE ID {2}TASK ID {2}TASK TYPE +NAMESPACE {2}WORKFLOW {2}SHARD {2}ATTEMPTS {2}GEN {2}LAST ERROR +AGE$/);
    expect(rows).toHaveLength(3);
    expect(lines.out.trimEnd().split('\n')).toHaveLength(4);
    expect(long).toMatchObject([{ workflowId: 'b' }]);
    expect(listed.out).toMatch(/^CATEGORY +SOURCE +TARGET +COUNT +QUARANTINED +OLDEST +TOP ERROR\ntransfer +active +active +4 +0 /);
    expect(all).toContainEqual(expect.objectContaining({ category: 'transfer', sourceCluster: 'active' }));
    expect(counted).toEqual({ count: 4 });
    expect(shown.out).toContain('the dependency is away');
    expect(groups).toMatchObject([{ key: 'permanent-error', count: 4 }]);
    expect(await this.perdure(`read ${ofTransfer} -o none`)).toEqual({ code: 0, out: '', err: '' });
    expect((await this.perdure(`count ${ofTransfer} --query "WorkflowId = 'b' OR MessageId > 5"`)).out).toBe('1\n');
    expect((await this.perdure('count --category timer')).out).toBe('0\n');
  }

  async refusals(): Promise<void> {
    const [filter, category, unnamed, missing, noJob] = await Promise.all([
      this.perdure(`read ${ofTransfer} --query "Colour = 1"`),
      this.perdure('count --category colours'),
      this.perdure('count'),
      this.perdure(`show ${ofTransfer} --message-id 9`),
      this.perdure('job describe 6f0bd4b2-4fdf-4a51-8d54-3d6b2cf57e8c'),
    ]);
    expect(filter).toMatchObject({ code: 2, out: '' });
    expect(category).toMatchObject({ code: 2, out: '', err: expect.stringContaining('colours') });
    expect(unnamed).toMatchObject({ code: 2, err: expect.stringContaining('--category is missing') });
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('NOT_FOUND') });
    expect(noJob).toMatchObject({ code: 1, err: expect.stringContaining('NOT_FOUND') });
    expect(await perdureAt('127.0.0.1:1', `${queue} count ${ofTransfer}`)).toMatchObject({ code: 4, out: '' });
  }

  async purges(): Promise<void> {
    const [letter] = (await this.json(`read ${ofTransfer} --message-id 1`)) as readonly Letter[];
    // The first tasks of two shards have the same id.
    const ofShard = `--task-id ${String(letter?.['taskId'])} --shard-id ${String(letter?.['shardId'])}`;
    const dry = await this.perdure(`purge ${ofTransfer} ${ofShard} --dry-run`);
    expect(dry.out).toContain('1 dead letter of transfer/active would be purged\n');
    expect((await this.perdure(`count ${ofTransfer}`)).out).toBe('4\n');
    const purged = await this.perdure(`purge ${ofTransfer} ${ofShard} --reason "nobody waits for it"`);
    expect(purged).toEqual({ code: 0, out: 'purged 1\n', err: '' });
    const again = await this.perdure(`purge ${ofTransfer} --message-id 1`);
    expect(again).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^perdure: NOT_FOUND: .*already purged/) });
    const partlyGone = await this.perdure(`purge ${ofTransfer} --message-id 0 --message-id 1 --message-id 77`);
    expect(partlyGone).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/NOT_FOUND: .*1 is already purged, there is no message 77/),
    });
    const notPurged = await this.perdure(`restore ${ofTransfer} --message-id 0 --message-id 1`);
    expect(notPurged).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/NOT_FOUND: message 0 is not purged/) });
    expect((await this.perdure(`count ${ofTransfer}`)).out).toBe('3\n');
    expect(await this.json('job list -o json')).toMatchObject([
      { operation: 'purge', state: 'completed', reason: 'nobody waits for it', counts: { selected: 1, purged: 1, remaining: 0 } },
    ]);
    expect(await this.json(`purge ${ofTransfer} --min-message-id 2 --max-message-id 2 -o json`)).toMatchObject({ selected: 1, purged: 1 });
    expect(await this.perdure(`purge ${ofTransfer} --workflow-id nobody`)).toMatchObject({ code: 0, out: 'purged 0\n' });
  }

  /** What was broken is broken still; of a workflow that has ended there is nothing left to do. */
  async merges(): Promise<void> {
    const [ends] = (await this.json(`read ${ofTransfer} --limit 1`)) as readonly Letter[];
    const workflowId = String(ends?.['workflowId']);
    await withClient(this.#address, ({ workflow }) => workflow.getHandle(workflowId).terminate(), 'broken');
    const merged = await this.perdure(`merge ${ofTransfer} --rps 0 --concurrency 2 --task-timeout 5s --yes --quiet`);
    expect(merged.code).toBe(3);
    expect(merged.out).toMatch(
      /^merged 1, failed 1, skipped 0\nmerged with nothing left to do 1\nremaining 1\n {2}message 3 of .*: the dependency is away \(as before\)\n {2}message 0 of .* {2}nothing left to do: the workflow is closed\n$/,
    );
    expect(await this.json(`read ${ofTransfer}`)).toMatchObject([{ messageId: 3, generation: 1 }]);
  }

  async plans(): Promise<void> {
    await this.#start('e', 'f', 'g');
    await expect.poll(async () => (await this.perdure(`count ${ofTransfer}`)).out, patience).toBe('4\n');
    const plan = await this.json(`plan merge ${ofTransfer} --canary --reason trying -o json`);
    const jobId = (plan as { readonly planIds: readonly string[] }).planIds[0] ?? '';
    expect(await this.perdure(`apply ${jobId} --hash 00`)).toMatchObject({ code: 1, err: expect.stringContaining('hash') });
    const begun = await this.perdure(`apply ${jobId} --no-wait`);
    expect(begun).toMatchObject({ code: 0, out: expect.stringContaining(`job ${jobId}: merge of 4 dead letters`) });
    const described = () => this.json(`job describe ${jobId} -o json`);
    await expect.poll(described, patience).toMatchObject({ state: 'paused', stateReason: 'failure-budget', counts: { failed: 1 } });
    // Whoever wants one of its letters is told who has it.
    const overlap = await this.perdure(`purge ${ofTransfer} --message-id 3`);
    expect(overlap).toMatchObject({ code: 1, err: expect.stringContaining(jobId) });
    expect(await this.json(`job update ${jobId} --rps 5 --concurrency 3 -o json`)).toMatchObject({ rps: 5, concurrency: 3 });
    expect(await this.perdure(`job pause ${jobId}`)).toMatchObject({ code: 0 });
    expect(await this.json(`job resume ${jobId} -o json`)).toMatchObject({ state: 'running' });
    await expect.poll(described, patience).toMatchObject({ state: 'paused' });
    const cancelled = await this.perdure(`job cancel ${jobId} --reason enough`);
    expect(cancelled.code).toBe(0);
    await expect.poll(described, patience).toMatchObject({ state: 'cancelled' });
    const watched = await this.perdure(`job watch ${jobId}`);
    expect(watched).toMatchObject({ code: 3, err: expect.stringContaining('was cancelled') });
    expect((await this.perdure('job list --active')).out).not.toContain(jobId);
    expect(await this.json(`purge ${ofTransfer} --yes -o json`)).toMatchObject({ selected: 4, purged: 4, remaining: 0 });
    expect((await this.perdure(`read ${ofTransfer}`)).out).toBe('[]\n');
  }
}
