/**
 * Starts of batch jobs. How many a namespace has is counted by its list, so that its starts have turns: two that count at the same time would both
 * find room for one. Those at other processes are not among these.
 */
import type { StartBatch } from '../../history/batch/batch-commands.ts';
import { oneAtATime, type OneAtATime } from '../../kernel/one-at-a-time.ts';
import { canceled, exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import type { StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { openBatches } from './listed-batches.ts';

/** Of one namespace; a start takes some milliseconds. */
const waitingMax = 100;

type Turns = { readonly take: OneAtATime; waiting: number };

export class BatchStarts {
  readonly #context: HandlerContext;
  /** Of namespaces that have any. */
  readonly #turns = new Map<string, Turns>();

  constructor(context: HandlerContext) {
    this.#context = context;
  }

  async begin(call: Call, namespaceId: string, jobsMax: number, command: StartBatch): Promise<void> {
    const turns = this.#turns.get(namespaceId) ?? { take: oneAtATime(), waiting: 0 };
    if (turns.waiting >= waitingMax) throw tooMany('too many starts of batch operations of this namespace wait');
    this.#turns.set(namespaceId, turns);
    turns.waiting++;
    try {
      await turns.take(() => this.#start(call, namespaceId, jobsMax, command));
    } finally {
      turns.waiting--;
      if (turns.waiting === 0) this.#turns.delete(namespaceId);
    }
  }

  async #start(call: Call, namespaceId: string, jobsMax: number, command: StartBatch): Promise<void> {
    const { ports, queries } = this.#context;
    // Others may have had all of its time.
    if (call.cancelled || this.#context.monoMs() >= call.deadlineMs) throw canceled();
    const counts = await queries.run(call, namespaceId, (asked) =>
      ports.visibility.count({ namespaceId, condition: openBatches, byStatus: false, asked }),
    );
    if (counts.reduce((sum, { count }) => sum + count, 0) >= jobsMax) throw tooMany('Max concurrent batch operations is reached');
    await this.#context.history(call, command.key, command);
  }
}

function tooMany(message: string): StatusError {
  return resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
}
