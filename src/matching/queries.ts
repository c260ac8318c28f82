/**
 * Queries that go straight to a worker: in memory only, from their dispatch to the worker's answer or their deadline.
 *
 *   waiting (in its queue's list) ──poll──▶ given ──▶ answered | expired
 */
import type { AnswerQuery, DispatchQuery } from './matching-commands.ts';
import { type HostParts, Life, type LoadedQueue, WaitingQuery } from './loaded-queue.ts';
import { noPoller, queryExpired, queryNotFound, tooManyQueries } from './rejections.ts';
import { done, type MatchingRejected, type QueryTask, stickyUnavailable } from './matching-replies.ts';
import { taskQueuePartitionKey } from '../kernel/task-queue.ts';

export class Queries<T> extends Life<HostParts<T>> {
  readonly #byId = new Map<string, WaitingQuery>();
  readonly #byAsk = new Map<number, WaitingQuery>();

  /** Undefined: refused, and its caller told. */
  open(queue: LoadedQueue | undefined, command: DispatchQuery, askId: number): WaitingQuery | undefined {
    if (queue === undefined) return this.#refuse(askId, noPoller);
    const refusal = this.#refusalOf(queue, command);
    if (refusal !== undefined) return this.#refuse(askId, refusal);
    const earlier = this.#byId.get(command.queryId);
    if (earlier !== undefined) this.expire(earlier);

    const query = new WaitingQuery(queue, command, askId);
    queue.openQueries++;
    this.#byId.set(command.queryId, query);
    this.#byAsk.set(askId, query);
    this.parts.deadlines.set(query, command.deadlineMs);
    queue.waitingQueries.push(query);
    return query;
  }

  #refuse(askId: number, refusal: MatchingRejected): undefined {
    this.parts.decision.reply(askId, refusal);
    return undefined;
  }

  #refusalOf(queue: LoadedQueue, command: DispatchQuery): MatchingRejected | undefined {
    const { decision, limits } = this.parts;
    if (!queue.polledWithin(limits.queryPollWindowMs, decision.nowMs)) return noPoller;
    if (command.deadlineMs <= decision.nowMs) return queryExpired;
    return queue.openQueries >= limits.queriesPerQueueMax ? tooManyQueries(limits) : undefined;
  }

  /** Out of the list, into a poll's answer. */
  give(query: WaitingQuery): QueryTask {
    const { queue } = query;
    queue.waitingQueries.remove(query);
    const { queryId, query: bytes, workflow } = query.command;
    return { kind: 'queryTask', queryId, query: bytes, workflow, queuePartition: queue.queue.partition, sticky: queue.sticky };
  }

  answer(command: AnswerQuery, askId: number): void {
    const query = this.#byId.get(command.queryId);
    // Waiting ones were given to nobody: whoever answers them has made the token up.
    if (query === undefined || query.linked || query.queue.key !== taskQueuePartitionKey(command.queue)) {
      return this.parts.decision.reply(askId, queryNotFound);
    }
    this.#end(query);
    this.parts.decision.reply(query.askId, { kind: 'queryAnswer', result: command.result });
    this.parts.decision.reply(askId, done);
  }

  expire(query: WaitingQuery): void {
    this.#end(query);
    this.parts.decision.reply(query.askId, queryExpired);
  }

  cancel(askId: number): void {
    const query = this.#byAsk.get(askId);
    if (query !== undefined) this.#end(query);
  }

  /** Queries that no poll has taken are for another queue now. */
  sendAway(queue: LoadedQueue): void {
    for (let query = queue.waitingQueries.first; query !== undefined; query = queue.waitingQueries.first) {
      this.#end(query);
      this.parts.decision.reply(query.askId, stickyUnavailable);
    }
  }

  #end(query: WaitingQuery): void {
    query.queue.openQueries--;
    this.#byId.delete(query.command.queryId);
    this.#byAsk.delete(query.askId);
    this.parts.deadlines.remove(query);
    if (query.linked) query.queue.waitingQueries.remove(query);
  }
}
