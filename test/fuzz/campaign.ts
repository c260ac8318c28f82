/**
 * Seeded requests against a server that runs, many at a time, with a look at another tenant in between:
 *
 *     500 requests ─▶ all answered? with a code that is the caller's doing? ─▶ health ─▶ a workflow on every shard ─▶ 500 more
 */
import { status as codes, type ServiceError } from '@grpc/grpc-js';
import { decodeHealthCheckResponse } from '../../src/wire/generated/lean/health.ts';
import { Bystander } from './bystander.ts';
import { servedRpcs, type Rpc } from './descriptors.ts';
import { Pulse } from './pulse.ts';
import { fuzzedRequest, type FuzzedRequest } from './requests.ts';
import { Service } from './service.ts';
import { Supply } from './supply.ts';
import { type Execution, fuzzedNamespace, otherFuzzedNamespace, World } from './world.ts';

export type CampaignOptions = {
  readonly address: string;
  readonly seed: number;
  /** Numbers of the requests; one alone repeats it. */
  readonly first: number;
  readonly count: number;
  readonly shards: number;
};

export type CampaignReport = {
  /** Sent requests by method, and by the name of the code that they ended with. */
  readonly codes: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The longest that a health check took, and that a timer of this process was late. */
  readonly serverBusyMsMax: number;
  readonly ownBusyMsMax: number;
  /** One of each kind, with how often it was met. */
  readonly findings: readonly string[];
};

const requestsPerCheck = 500;
const inFlightMax = 48;
/** A slow machine is not a hang. */
const timeoutMs = 60_000;
/** The least that a poll takes seriously, and a second. */
const waitingTimeoutMs = 2_500;
/** Methods that wait for somebody else; any other one that meets its deadline hangs. */
export const waiting: ReadonlySet<string> = new Set(
  servedRpcs().flatMap(({ method, row }) => (row.waitsFor === undefined ? [] : [method])),
);
/** An update whose deadline came before a slow machine got to it. */
const undecided = 'the update was not decided in time: ask again';
/** Codes that say: it was your request. */
const callersDoing: ReadonlySet<number> = new Set([
  codes.OK,
  codes.INVALID_ARGUMENT,
  codes.NOT_FOUND,
  codes.ALREADY_EXISTS,
  codes.PERMISSION_DENIED,
  codes.FAILED_PRECONDITION,
  codes.UNIMPLEMENTED,
  codes.RESOURCE_EXHAUSTED,
]);
/** After so many kinds the rest says nothing new. */
const findingsMax = 20;

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #service: Service;
  readonly #bystander: Bystander;
  readonly #world = new World();
  readonly #codes = new Map<string, Map<string, number>>();
  readonly #findings = new Map<string, { readonly text: string; times: number }>();
  #stopped = false;
  readonly #inFlight = new Set<Promise<void>>();
  /** Apart: a poll that waits must not hold up the others. */
  readonly #waiting = new Set<Promise<void>>();

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#service = new Service(options.address);
    this.#bystander = new Bystander(this.#service, options.shards, 'meanwhile');
  }

  async run(): Promise<CampaignReport> {
    const { first, count } = this.#options;
    const supply = new Supply(this.#service, this.#world, (method, error) => this.#judge(`the supply's ${method}`, method, error));
    const pulse = new Pulse(this.#options.address);
    try {
      const rpcs = servedRpcs();
      await this.#addSearchAttributes();
      supply.start();
      for (let from = first; from < first + count && this.#findings.size < findingsMax && !this.#stopped; from += requestsPerCheck) {
        await this.#send(rpcs, from, Math.min(requestsPerCheck, first + count - from));
        await this.#check(`after request ${from + requestsPerCheck - 1}`);
      }
      await Promise.all(this.#waiting);
      return {
        codes: this.#codes,
        serverBusyMsMax: pulse.serverMsMax,
        ownBusyMsMax: pulse.ownMsMax,
        findings: [...this.#findings.values()].map(({ text, times }) => `${times} ×, first ${text}`),
      };
    } finally {
      await pulse.stop();
      await supply.stop();
      this.#service.close();
    }
  }

  async #addSearchAttributes(): Promise<void> {
    const searchAttributes = { FuzzInt: 3, FuzzKeyword: 2, FuzzDouble: 4 };
    for (const namespace of [fuzzedNamespace, otherFuzzedNamespace])
      await this.#service.call('AddSearchAttributes', { namespace, searchAttributes });
  }

  async #send(rpcs: readonly Rpc[], from: number, count: number): Promise<void> {
    for (let number = from; number < from + count; number++) {
      const request = fuzzedRequest(this.#options.seed, number, rpcs, this.#world);
      const group = waiting.has(request.rpc.method) ? this.#waiting : this.#inFlight;
      const sent = this.#sendOne(request).finally(() => group.delete(sent));
      group.add(sent);
      while (group.size >= inFlightMax) await Promise.race(group);
    }
    await Promise.all(this.#inFlight);
  }

  async #sendOne(request: FuzzedRequest): Promise<void> {
    const { rpc, body, gzip, number } = request;
    const options = { gzip, timeoutMs: waiting.has(rpc.method) ? waitingTimeoutMs : timeoutMs };
    try {
      this.#learn(rpc, await this.#service.raw.call(rpc.path, body, options));
      this.#noteWhatItLeaves(rpc, body);
      this.#count(rpc.method, codes.OK);
    } catch (error) {
      const { code } = error as ServiceError;
      this.#count(rpc.method, code);
      if (rpc.method === 'UpdateWorkflowExecution' && code === codes.DEADLINE_EXCEEDED) this.#noteUndecided(rpc, body);
      this.#judge(`request ${number}, ${rpc.method}`, rpc.method, error, request);
    }
  }

  /** What a later request may stop or take back. */
  #noteWhatItLeaves({ method, requestType }: Rpc, body: Uint8Array): void {
    if (method === 'StartBatchOperation') {
      const { jobId, maxOperationsPerSecond } = requestType.toObject(requestType.decode(body), { defaults: true }) as {
        readonly jobId: string;
        readonly maxOperationsPerSecond: number;
      };
      this.#world.noteJob(jobId, maxOperationsPerSecond > 0 && maxOperationsPerSecond < 1);
    }
    if (method === 'PauseWorkflowExecution')
      this.#world.notePaused(requestType.toObject(requestType.decode(body), { defaults: true }) as Execution);
  }

  /** An update whose caller had no time to hear of it is there all the same, and may be asked for by its id. */
  #noteUndecided({ requestType }: Rpc, body: Uint8Array): void {
    const { workflowExecution, request } = requestType.toObject(requestType.decode(body)) as {
      readonly workflowExecution?: Execution;
      readonly request?: { readonly meta?: { readonly updateId?: string } };
    };
    const updateId = request?.meta?.updateId ?? '';
    if (workflowExecution !== undefined && updateId !== '') this.#world.noteUpdate(workflowExecution, updateId);
  }

  /** Ids and tokens that later requests may name. */
  #learn({ method, responseType }: Rpc, bytes: Uint8Array): void {
    const reply = responseType.toObject(responseType.decode(bytes)) as {
      readonly nextPageToken?: Uint8Array;
      readonly taskToken?: Uint8Array;
      /** Of a start that takes its first task along. */
      readonly eagerWorkflowTask?: { readonly taskToken: Uint8Array; readonly startedEventId: number };
      readonly updateRef?: { readonly workflowExecution?: Execution; readonly updateId?: string };
    };
    const { eagerWorkflowTask, updateRef } = reply;
    if (eagerWorkflowTask !== undefined && eagerWorkflowTask.taskToken.length > 0) {
      const { taskToken: token, startedEventId } = eagerWorkflowTask;
      this.#world.workflowTasks.push({ token, startedEventId, updates: [] });
    }
    if (updateRef?.workflowExecution !== undefined) this.#world.noteUpdate(updateRef.workflowExecution, updateRef.updateId ?? '');
    if (reply.nextPageToken !== undefined) this.#world.notePageToken(reply.nextPageToken);
    if (reply.taskToken === undefined || reply.taskToken.length === 0) return;
    if (method === 'PollActivityTaskQueue') this.#world.activityTokens.push(reply.taskToken);
  }

  #judge(what: string, method: string, error: unknown, request?: FuzzedRequest): void {
    const { code, details } = error as ServiceError;
    const isLate = code === codes.DEADLINE_EXCEEDED || (code === codes.UNAVAILABLE && details === undecided);
    if (callersDoing.has(code) || (isLate && waiting.has(method))) return;
    // Others, too, close workflows: of two that it found, one after the other.
    if (code === codes.ABORTED && method === 'ExecuteMultiOperation') return;
    // Numbers tell cases of one kind apart.
    this.#find(
      `${codes[code]} ${details.replaceAll(/[\d.]+/g, '#')}`,
      `${what}: ${codes[code]} ${details}${request === undefined ? '' : `\n${shown(request)}`}`,
    );
  }

  async #check(when: string): Promise<void> {
    try {
      await this.#bystander.round();
      const health = decodeHealthCheckResponse(await this.#service.raw.call('/grpc.health.v1.Health/Check', new Uint8Array(0)));
      if (health.status !== 1) this.#stop(`${when}: health status ${health.status}`);
    } catch (error) {
      this.#stop(`${when}: the bystander: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Somebody was harmed: what comes later is a consequence of it. */
  #stop(text: string): void {
    this.#stopped = true;
    this.#find(text, text);
  }

  #find(kind: string, text: string): void {
    const known = this.#findings.get(kind);
    if (known === undefined) this.#findings.set(kind, { text, times: 1 });
    else known.times++;
  }

  #count(method: string, code: number): void {
    const counts = this.#codes.get(method) ?? new Map<string, number>();
    const name = codes[code] ?? String(code);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    this.#codes.set(method, counts);
  }
}

/** Enough to see what it was, and all of its bytes when they are few. */
function shown({ message, body }: FuzzedRequest): string {
  const json = JSON.stringify(message, (_, value: unknown) => {
    if (value instanceof Uint8Array) return `${value.length} bytes`;
    if (typeof value === 'string' && value.length > 60) return `${value.length} characters`;
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  });
  const bytes = body.length <= 1_000 ? Buffer.from(body).toString('base64') : `${body.length} bytes`;
  return `  ${json.length <= 2_000 ? json : `${json.slice(0, 2_000)}…`}\n  ${bytes}`;
}
