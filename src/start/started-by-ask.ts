/**
 * An owner that takes over with the first ask, because its journal is known to be empty.
 *
 *     ask ─▶ held, the owner starts ─▶ it serves, or cannot ─▶ held asks are passed on, and later ones at once
 */
import type { AskContext, AskFailure } from '../actors/asks/asks.ts';
import type { Endpoint, ReplySink } from '../actors/asks/switchboard.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';

const HELD_ASKS_MAX = 1_000;

export type StartedByAskOptions<Request> = {
  readonly endpoint: Endpoint<Request>;
  readonly sink: Pick<ReplySink<never>, 'fail'>;
  readonly start: () => void;
};

export class StartedByAsk<Request> implements Endpoint<Request> {
  readonly #options: StartedByAskOptions<Request>;
  /** The held requests by their asks; undefined once the owner has started. */
  #held: Map<number, { readonly request: Request; readonly context: AskContext }> | undefined = new Map();
  #isStarting = false;

  constructor(options: StartedByAskOptions<Request>) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#isStarting;
  }

  submit(askId: number, request: Request, context: AskContext): AskFailure | undefined {
    const { endpoint, start } = this.#options;
    if (this.#held === undefined) return endpoint.submit(askId, request, context);
    if (this.#held.size >= HELD_ASKS_MAX) return { kind: 'busy', message: `${HELD_ASKS_MAX} others wait for the first takeover` };
    this.#held.set(askId, { request, context });
    if (this.#isStarting) return undefined;
    this.#isStarting = true;
    start();
    return undefined;
  }

  cancel(askId: number): void {
    if (this.#held === undefined) this.#options.endpoint.cancel(askId);
    else this.#held.delete(askId);
  }

  told({ state }: Pick<PartitionStatus, 'state'>): void {
    if (this.#held === undefined || (state !== 'active' && state !== 'failed' && state !== 'unassigned' && state !== 'released')) return;
    const held = this.#held;
    this.#held = undefined;
    const { endpoint, sink } = this.#options;
    for (const [askId, { request, context }] of held) {
      const failure = endpoint.submit(askId, request, context);
      if (failure !== undefined) sink.fail(askId, failure);
    }
  }
}
