/**
 * Dead letters whose topics somebody deletes, cuts or keeps for another cluster, while merges and purges of them are under way, outcomes are
 * refused and servers are killed with -9:
 *
 *     a disaster ─▶ letters of a faulty server ─▶ a mended one: merges, purges, restores, plans; the broker refuses what is written ─▶ killed ─▶ a disaster
 *
 * In the end nothing is under way, and of each dead letter one thing has come: it was merged, and its task was given to a worker; it was purged,
 * and that was not; or somebody has deleted its record. Whatever was chosen among the dead letters of one topic, or by one cluster, has touched no
 * dead letter of the next.
 */
import type { WorkflowService } from '@temporalio/client';
import type { Admin, Kafka } from 'kafkajs';
import { consumeAll, deleteRecordsBefore, deleteTopic, kafkaClient, setTopic, withAdmin } from '../acceptance/kafka-admin.ts';
import { LetterClient, type Plain } from '../grpc/deadletter-service/letter-client.ts';
import type { Prng } from '../simulation/prng.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { isGiven, startWorkflow, until, withWorkers } from './completing-workers.ts';
import { type Fate, LetterChronicle, nameOf } from './letter-chronicle.ts';
import { heardUnderFire } from './under-fire.ts';

export const disasters = ['topic deleted', 'topic deleted under waiting letters', 'records deleted', 'cluster begun anew'] as const;
export type Disaster = (typeof disasters)[number];

export type AnewCampaign = {
  /** Its workflow tasks fail for good. */
  readonly faulty: ServerProcess;
  /** At the same address, on the same topics; without the fault. */
  readonly mended: ServerProcess;
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  /** Each begins a round, but for the first. */
  readonly disasters: readonly Disaster[];
  /** That each round begins with. */
  readonly letters: number;
  /** That are asked for in each round. */
  readonly changes: number;
  readonly prng: Prng;
  readonly say?: (line: string) => void;
};

export type AnewReport = Readonly<Record<'letters' | 'merged' | 'noops' | 'purged' | 'gone', number>> & {
  readonly wrong: readonly string[];
};

type Change = 'merge' | 'purge' | 'plan' | 'apply' | 'restore' | 'refuse tasks' | 'refuse outcomes' | 'accept' | 'delete records' | 'kill';
type Asked = {
  readonly life: number;
  readonly cluster: number;
  readonly kind: 'merge' | 'purge' | 'restore';
  readonly low: number;
  readonly high: number;
};
type Started = { readonly workflowId: string; readonly cluster: number };

const queue = { category: 'transfer' };
const SENTINELS = 8;
const CALL_MS = 1_500;
const TOO_SMALL = 60;
const IN_USE = 8_388_608;
const changes: readonly Change[] = [
  ...(['merge', 'merge', 'merge', 'purge', 'purge', 'purge', 'plan', 'apply', 'restore'] as const),
  ...(['refuse tasks', 'refuse outcomes', 'accept', 'delete records', 'kill'] as const),
];

export async function anewUnderFire(campaign: AnewCampaign): Promise<AnewReport> {
  const kafka = kafkaClient(campaign.brokers);
  return await withAdmin(kafka, async (admin) => await new Anew(campaign, kafka, admin).run());
}

class Anew {
  readonly #campaign: AnewCampaign;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #topic: string;
  readonly #chronicle = new LetterChronicle();
  readonly #started: Started[] = [];
  /** By job, which has the id of its plan. */
  readonly #asked = new Map<string, Asked>();
  readonly #plans: string[] = [];
  readonly #wrong: string[] = [];
  readonly #refusing = new Set<string>();
  #applied = 0;

  constructor(campaign: AnewCampaign, kafka: Kafka, admin: Admin) {
    this.#campaign = campaign;
    this.#kafka = kafka;
    this.#admin = admin;
    this.#topic = `dlq.${campaign.topicPrefix}.transfer.active`;
  }

  async run(): Promise<AnewReport> {
    const { mended, faulty } = this.#campaign;
    await withWorkers(faulty.address, async (service) => {
      const rounds = [undefined, ...this.#campaign.disasters];
      for (const [nth, disaster] of rounds.entries()) {
        await this.#makeLetters(service, nth, disaster);
        await faulty.kill9();
        await mended.start();
        await this.#mergeInVain();
        for (let left = this.#campaign.changes; left > 0; left--) await this.#change();
        if (this.#campaign.prng.chance(0.5)) await this.#calm();
        const next = rounds[nth + 1];
        this.#say(
          `round ${nth} (${disaster ?? 'nothing deleted'}): ${this.#applied} of ${this.#asked.size} plans applied so far, next: ${next ?? 'the end'}`,
        );
        if (next === undefined) await this.#empty();
        if (next === undefined || next === 'cluster begun anew') await this.#judge(service);
        await mended.kill9();
      }
    });
    const { fates, wrong } = this.#chronicle;
    const count = (how: Fate['how']): number => fates.filter((fate) => fate.how === how).length;
    return {
      letters: fates.length,
      merged: count('merged'),
      noops: count('merged-noop'),
      purged: count('purged'),
      gone: count('open'),
      wrong: [...wrong, ...this.#wrong],
    };
  }

  #say(line: string): void {
    this.#campaign.say?.(line);
  }

  // ── Letters come ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #makeLetters(service: WorkflowService, round: number, disaster: Disaster | undefined): Promise<void> {
    const { faulty, letters, prng, topicPrefix } = this.#campaign;
    const workflowIds = Array.from({ length: letters }, (_, nth) => `order-${round}-${nth}`);
    await this.#read();
    switch (disaster) {
      case undefined:
        break;
      case 'topic deleted':
        await this.#deleteTopic();
        break;
      case 'topic deleted under waiting letters':
        await this.#accept(`${topicPrefix}.matching`);
        await this.#refuse(this.#topic);
        await faulty.start();
        await this.#start(service, workflowIds);
        await faulty.kill9();
        await this.#deleteTopic();
        break;
      case 'records deleted':
        await this.#deleteRecords();
        break;
      case 'cluster begun anew':
        for (const topic of await this.#admin.listTopics()) if (topic.startsWith(`${topicPrefix}.`)) await deleteTopic(this.#admin, topic);
        this.#refusing.delete(`${topicPrefix}.matching`);
        this.#chronicle.clusterIsDeleted();
        break;
    }
    await this.#acceptAll();
    await faulty.start();
    if (disaster !== 'topic deleted under waiting letters') {
      const half = prng.chance(0.5) ? workflowIds.length / 2 : workflowIds.length;
      await this.#start(service, workflowIds.slice(0, half));
      if (half < workflowIds.length) {
        await faulty.kill9();
        await faulty.start();
        await this.#start(service, workflowIds.slice(half));
      }
    }
    await withLetters(faulty, async (client) => {
      await until(`the letters of round ${round}`, async () => {
        const open = new Set((await openLetters(client)).map(({ workflowId }) => workflowId));
        return workflowIds.every((workflowId) => open.has(workflowId));
      });
    });
  }

  async #start(service: WorkflowService, workflowIds: readonly string[]): Promise<void> {
    const { cluster } = this.#chronicle;
    await Promise.all(workflowIds.map((workflowId) => startWorkflow(service, workflowId)));
    this.#started.push(...workflowIds.map((workflowId) => ({ workflowId, cluster })));
  }

  async #deleteTopic(): Promise<void> {
    await deleteTopic(this.#admin, this.#topic);
    this.#refusing.delete(this.#topic);
    this.#chronicle.topicIsDeleted();
  }

  // ── The broker ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Before anything of the topic is deleted. */
  async #read(): Promise<void> {
    if ((await this.#admin.listTopics()).includes(this.#topic)) this.#chronicle.read(await consumeAll(this.#kafka, this.#topic));
  }

  async #deleteRecords(): Promise<void> {
    await this.#read();
    const offsets = this.#chronicle.open.map(({ offset }) => offset);
    if (offsets.length === 0) return;
    const cut = this.#campaign.prng.pick(offsets) + 1;
    await deleteRecordsBefore(this.#admin, this.#topic, [0], String(cut));
    this.#chronicle.cutBefore(cut);
  }

  async #refuse(topic: string): Promise<void> {
    this.#refusing.add(topic);
    await setTopic(this.#admin, topic, new Map([['max.message.bytes', String(TOO_SMALL)]]));
  }

  async #accept(topic: string): Promise<void> {
    if (!this.#refusing.delete(topic)) return;
    await setTopic(this.#admin, topic, new Map([['max.message.bytes', String(IN_USE)]]));
  }

  async #acceptAll(): Promise<void> {
    for (const topic of [...this.#refusing]) await this.#accept(topic);
  }

  // ── Changes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whatever is refused is given up. */
  async #change(): Promise<void> {
    const { mended, prng, topicPrefix } = this.#campaign;
    const kind = prng.pick(changes);
    switch (kind) {
      case 'refuse tasks':
        return await this.#refuse(`${topicPrefix}.matching`);
      case 'refuse outcomes':
        return await this.#refuse(this.#topic);
      case 'accept':
        return await this.#acceptAll();
      case 'delete records':
        return await this.#deleteRecords();
      case 'kill':
        await mended.kill9();
        await this.#acceptAll();
        return await mended.start();
      default:
        await withLetters(mended, async (client) => await this.#tolerated(async () => await this.#ask(client, kind)));
    }
  }

  /** A merge of which nobody learns what has come; often what it may have executed is purged before it can be. */
  async #mergeInVain(): Promise<void> {
    const { mended, prng, topicPrefix } = this.#campaign;
    await withLetters(mended, async (client) => {
      const letters = await openLetters(client);
      await until('jobs', async () => (await activeJobs(client)) >= 0);
      await this.#tolerated(async () => {
        const range = { minMessageId: 0, maxMessageId: prng.pick(letters).messageId };
        const planId = await this.#plan(client, 'merge', range);
        const refuses = prng.pick([`${topicPrefix}.matching`, this.#topic]);
        await this.#refuse(refuses);
        await this.#apply(client, planId);
        if (refuses === this.#topic || prng.chance(0.3)) return;
        await until('the end of a merge', async () => (await activeJobs(client)) === 0);
        await this.#apply(client, await this.#plan(client, 'purge', range));
      });
    });
  }

  /** What is under way comes to its end. */
  async #calm(): Promise<void> {
    await this.#acceptAll();
    await withLetters(this.#campaign.mended, async (client) => {
      await until('the end of all jobs', async () => (await activeJobs(client)) === 0);
    });
  }

  async #tolerated(ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
    } catch (error) {
      if (!heardUnderFire.has((error as { readonly code?: number }).code)) throw error;
    }
  }

  async #ask(client: LetterClient, kind: 'merge' | 'purge' | 'plan' | 'apply' | 'restore'): Promise<void> {
    const { prng } = this.#campaign;
    const { life, cluster } = this.#chronicle;
    // Perhaps of a topic, or of a cluster, that is no more.
    if (kind === 'apply') return this.#plans.length === 0 ? undefined : await this.#apply(client, prng.pick(this.#plans));
    const { count = 0 } = await client.call('CountDeadLetters', { queues: [queue] }, { timeoutMs: CALL_MS });
    const low = prng.int(0, this.#campaign.letters);
    const high = low + prng.int(0, Number(count));
    if (kind === 'restore') {
      const messageIds = Array.from({ length: Math.min(20, high - low + 1) }, (_, at) => low + at);
      const answer = await client.call('RestoreDeadLetters', { queue, messageIds, reason: kind }, { timeoutMs: CALL_MS });
      this.#asked.set(jobOf(answer), { life, cluster, kind, low, high });
      return;
    }
    const does = kind === 'plan' ? prng.pick(['merge', 'purge'] as const) : kind;
    const planId = await this.#plan(client, does, { minMessageId: prng.chance(0.5) ? 0 : low, maxMessageId: high });
    if (kind === 'plan') return void this.#plans.push(planId);
    await this.#apply(client, planId);
  }

  async #apply(client: LetterClient, planId: string): Promise<void> {
    await client.call('ApplyPlan', { planId }, { timeoutMs: CALL_MS });
    this.#applied += 1;
    if (this.#campaign.prng.chance(0.5)) {
      await client.call('DescribeJob', { jobId: planId, wait: { seconds: 1 } }, { timeoutMs: CALL_MS });
    }
  }

  async #plan(
    client: LetterClient,
    kind: 'merge' | 'purge',
    selection: { readonly minMessageId: number; readonly maxMessageId: number },
  ): Promise<string> {
    const { life, cluster } = this.#chronicle;
    const options = kind === 'merge' ? { options: { rps: 0, concurrency: 20, taskTimeout: { seconds: 1 }, overrideLoopGuard: true } } : {};
    const request = { operation: `OPERATION_${kind.toUpperCase()}`, queue, selection, reason: kind, ...options };
    const { plan } = await client.call('PlanDeadLetters', request, { timeoutMs: CALL_MS });
    const { planId } = plan as { readonly planId: string };
    this.#asked.set(planId, { life, cluster, kind, low: selection.minMessageId, high: selection.maxMessageId });
    return planId;
  }

  // ── What has come of it ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Damaged ones are purged. */
  async #empty(): Promise<void> {
    await this.#acceptAll();
    const all = { minMessageId: 0, maxMessageId: 1_000_000 };
    await withLetters(this.#campaign.mended, async (client) => {
      let nth = 0;
      await until('an empty queue', async () => {
        if ((await activeJobs(client)) > 0) return false;
        if ((await openLetters(client)).length === 0) return true;
        await this.#tolerated(async () => {
          const planId = await this.#plan(client, nth++ % 2 === 0 ? 'merge' : 'purge', all);
          await client.call('ApplyPlan', { planId }, { timeoutMs: CALL_MS });
        });
        return false;
      });
    });
  }

  /** The life of a cluster ends; it serves, and nothing is refused. */
  async #judge(service: WorkflowService): Promise<void> {
    await this.#acceptAll();
    await withLetters(this.#campaign.mended, async (client) => {
      let [listed, open]: readonly [string, string] = ['', ''];
      const isSame = async (): Promise<boolean> => {
        if ((await activeJobs(client)) > 0) return false;
        const letters = await openLetters(client);
        await this.#read();
        const cut = new Set(
          this.#chronicle.fates.flatMap(({ life, messageId, isCut }) => (isCut && life === this.#chronicle.life ? [messageId] : [])),
        );
        listed = idsOf(letters.filter(({ messageId }) => !cut.has(messageId)));
        open = idsOf(this.#chronicle.open);
        return listed === open;
      };
      await until('the end of all jobs', isSame).catch((error: unknown) => {
        this.#wrong.push(`${String(error)}: the queue has ${listed}, its topic ${open}`);
      });
    });
    this.#judgeAuthors();
    const { cluster } = this.#chronicle;
    const fatesOf = Map.groupBy(this.#chronicle.fates, ({ workflowId }) => workflowId);
    const own = this.#started.filter((started) => started.cluster === cluster);
    const executed = own.filter(({ workflowId }) => fatesOf.get(workflowId)?.some(({ how }) => how === 'merged'));
    await Promise.all(
      executed.map(async ({ workflowId }) => {
        const given = until(workflowId, async () => await isGiven(service, workflowId));
        await given.catch(() => this.#wrong.push(`the letter of ${workflowId} is merged, and no worker has got its task`));
      }),
    );
    // Whatever is pending in a shard goes before these.
    const sentinels = Array.from({ length: SENTINELS }, (_, nth) => `sentinel-${cluster}-${nth}`);
    await Promise.all(sentinels.map((workflowId) => startWorkflow(service, workflowId)));
    await Promise.all(sentinels.map((workflowId) => until(workflowId, async () => await isGiven(service, workflowId))));
    await Promise.all(
      own.map(async ({ workflowId }) => this.#judgeWorkflow(workflowId, fatesOf.get(workflowId) ?? [], await isGiven(service, workflowId))),
    );
  }

  #judgeWorkflow(workflowId: string, fates: readonly Fate[], isGivenTask: boolean): void {
    const said = fates.map((fate) => `${nameOf(fate)} ${fate.how}${fate.isCut ? ', its record was deleted' : ''}`).join('; ');
    if (fates.length === 0) this.#wrong.push(`${workflowId} has no letter`);
    const ofTask = Map.groupBy(fates, ({ life, taskId }) => `${life}/${taskId}`);
    for (const some of ofTask.values())
      if (some.filter(({ isCut }) => !isCut).length > 1) this.#wrong.push(`one task, several letters: ${said}`);
    if (isGivenTask && fates.every(({ how, isCut }) => how === 'purged' && !isCut)) this.#wrong.push(`purged, and executed: ${said}`);
    if (!isGivenTask && fates.some(({ how }) => how === 'merged-noop')) this.#wrong.push(`merged as executed, and never was: ${said}`);
  }

  /** Each tombstone is of somebody who had chosen that letter. */
  #judgeAuthors(): void {
    for (const fate of this.#chronicle.fates) {
      const { how, jobId, messageId, life, resolvedBy, cluster } = fate;
      if (how === 'open') continue;
      if (how === 'merged' && resolvedBy > cluster) this.#wrong.push(`${nameOf(fate)} is merged, and its workflow is gone`);
      // The queue itself asks what came of a merge.
      if (jobId === '' && how !== 'purged') continue;
      const asked = this.#asked.get(jobId);
      const isChosen = asked?.life === life && asked.cluster === resolvedBy && asked.low <= messageId && messageId <= asked.high;
      if (!isChosen || asked.kind === 'restore')
        this.#wrong.push(`${nameOf(fate)} is ${how} by ${jobId}, which had ${JSON.stringify(asked)}`);
    }
  }
}

function jobOf({ job }: Plain): string {
  return (job as { readonly jobId: string }).jobId;
}

function idsOf(letters: readonly { readonly messageId: number }[]): string {
  return letters
    .map(({ messageId }) => messageId)
    .toSorted((one, other) => one - other)
    .join(' ');
}

type Listed = { readonly messageId: number; readonly workflowId: string };

async function openLetters(client: LetterClient): Promise<readonly Listed[]> {
  const { letters = [] } = await client.onceServed('ListDeadLetters', { queues: [queue], queue, pageSize: 1_000 });
  return (letters as readonly Plain[]).map(({ messageId = 0, workflowId = '' }) => ({
    messageId: Number(messageId),
    workflowId: String(workflowId),
  }));
}

async function activeJobs(client: LetterClient): Promise<number> {
  const { jobs = [] } = await client.onceServed('ListJobs', { activeOnly: true });
  return (jobs as readonly Plain[]).length;
}

async function withLetters<T>({ address }: ServerProcess, use: (client: LetterClient) => Promise<T>): Promise<T> {
  const client = new LetterClient(address);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
