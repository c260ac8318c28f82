/**
 * With this loaded, every ask of the process travels as it would to another process: as bytes, there and back.
 *
 *     caller ── request ─▶ bytes ─▶ its copy ──▶ router ──▶ actor
 *            ◀─ its copy ◀─ bytes ◀─ answer ───        ◀──
 *
 * So nothing can rest on memory that caller and actor share. What arrives must be what was sent; else the process ends with an error that
 * names the kind and the field. vitest loads it as a setup file, and servers that tests start as `node --import`, from their sources: a bundle
 * has a router of its own, of which nothing here knows.
 */
import { AUDIT_ACTOR, CLUSTER_ACTOR, JOBS_ACTOR, Router } from '../../src/actors/asks/router.ts';
import { auditAsks } from '../../src/peers/codec/audit-codec.ts';
import { clusterAsks } from '../../src/peers/codec/cluster-codec.ts';
import { deadLetterAsks } from '../../src/peers/codec/dead-letters-codec.ts';
import { historyAsks } from '../../src/peers/codec/history-codec.ts';
import { jobsAsks } from '../../src/peers/codec/jobs-codec.ts';
import { matchingAsks } from '../../src/peers/codec/matching-codec.ts';
import type { UnionCodec } from '../../src/peers/codec/union-codec.ts';

if (process.argv[1]?.includes('/dist/program/') === true) throw new Error('asks of a bundle cannot be carried: set PERDURE_PROGRAM=source');

type Kinded = { readonly kind: string };

Router.prototype.askHistory = function (shard, request, context, onReply) {
  const arrived = carried(request, historyAsks.requests);
  return this.history.ask(shard, arrived, context, (answer) => onReply(carried(answer, historyAsks.answers)));
};

Router.prototype.askMatching = function (partition, request, context, onReply) {
  const arrived = carried(request, matchingAsks.requests);
  return this.matching.ask(partition, arrived, context, (answer) => onReply(carried(answer, matchingAsks.answers)));
};

Router.prototype.askCluster = function (request, context, onReply) {
  const arrived = carried(request, clusterAsks.requests);
  return this.cluster.ask(CLUSTER_ACTOR, arrived, context, (answer) => onReply(carried(answer, clusterAsks.answers)));
};

Router.prototype.askDeadLetters = function (queue, request, context, onReply) {
  const arrived = carried(request, deadLetterAsks.requests);
  return this.deadLetters.ask(queue, arrived, context, (answer) => onReply(carried(answer, deadLetterAsks.answers)));
};

Router.prototype.askJobs = function (request, context, onReply) {
  const arrived = carried(request, jobsAsks.requests);
  return this.jobs.ask(JOBS_ACTOR, arrived, context, (answer) => onReply(carried(answer, jobsAsks.answers)));
};

Router.prototype.askAudit = function (request, context, onReply) {
  const arrived = carried(request, auditAsks.requests);
  return this.audit.ask(AUDIT_ACTOR, arrived, context, (answer) => onReply(carried(answer, auditAsks.answers)));
};

/** How far the clock of the process that reads is ahead of the one that wrote. */
const CLOCK_SKEW_MS = 90_000;

/** Moments by the wall clock. They travel as the time that is left, so by another clock they are other numbers; all else stays as it is. */
const moments: ReadonlySet<string> = new Set(['deadlineMs', 'holdUntilMs']);

/** Read twice: by another clock, as another process would, and by the one that both sides have here. */
function carried<Message extends Kinded, Sent extends Message>(sent: Sent, codec: UnionCodec<Message>): Sent {
  const nowMs = Date.now();
  try {
    const bytes = codec.encode(sent, nowMs);
    const elsewhere = codec.decode(bytes, nowMs + CLOCK_SKEW_MS);
    const received = codec.decode(bytes, nowMs);
    const difference = differenceOf(sent, elsewhere, sent.kind, CLOCK_SKEW_MS) ?? differenceOf(sent, received, sent.kind);
    if (difference !== undefined) throw new Error(`an ask or its answer does not arrive as it was sent: ${difference}`);
    // As equal as its type.
    return received as Sent;
  } catch (error) {
    // Whoever asked may take an error for an answer like any other; nobody catches this one.
    queueMicrotask(() => {
      throw error;
    });
    throw error;
  }
}

/**
 * Where the two first differ. Bytes are equal whatever holds them, and what is undefined may as well be absent. `skewMs`: how far the clock
 * that the one was received by is ahead; moments must be later by as much, and 0 is no moment.
 */
export function differenceOf(sent: unknown, received: unknown, path: string, skewMs = 0): string | undefined {
  if (Object.is(sent, received)) return undefined;
  if (sent instanceof Uint8Array && received instanceof Uint8Array) {
    return Buffer.compare(sent, received) === 0 ? undefined : `${path}: other bytes`;
  }
  if (sent instanceof Map && received instanceof Map) return differenceOf([...sent], [...received], path, skewMs);
  if (Array.isArray(sent) && Array.isArray(received)) {
    if (sent.length !== received.length) return `${path}: ${sent.length} elements, then ${received.length}`;
    return firstOf(sent.keys(), (index) => differenceOf(sent[index], received[index], `${path}[${index}]`, skewMs));
  }
  if (isPlain(sent) && isPlain(received)) {
    const names = new Set([...Object.keys(sent), ...Object.keys(received)]);
    return firstOf(names, (name) => {
      const value = sent[name];
      const expected = moments.has(name) && typeof value === 'number' && value !== 0 ? value + skewMs : value;
      return differenceOf(expected, received[name], `${path}.${name}`, skewMs);
    });
  }
  return `${path}: ${described(sent)}, then ${described(received)}`;
}

function firstOf<Key>(keys: Iterable<Key>, find: (key: Key) => string | undefined): string | undefined {
  for (const key of keys) {
    const found = find(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function described(value: unknown): string {
  return typeof value === 'object' && value !== null ? value.constructor.name : `${typeof value} ${String(value)}`;
}
