/** Asks where the log ends: as proof for reads (T7), and while the owner is idle, so that long polls fail once it has a successor (T10). */
import { errorText } from '../../kernel/error-text.ts';
import { LogError } from '../../ports/log.ts';
import type { Appends } from './appends.ts';
import type { LogPosition } from './effective.ts';
import type { Ownership } from './ownership.ts';

type ReadProofsParts = Ownership & { readonly appends: Appends; readonly watchIntervalMs: number; readonly retryDelayMs: number };

export class ReadProofs {
  readonly #parts: ReadProofsParts;
  #asking = false;
  /** The log owes an answer, asked for or to be asked for again: between two attempts as well. */
  unanswered = false;
  #watching = false;

  constructor(parts: ReadProofsParts) {
    this.#parts = parts;
  }

  prove(): void {
    const { life, memory, trouble } = this.#parts;
    const { service } = life;
    if (service === undefined || this.#asking) return;
    const { underWay } = service;
    if (underWay?.kind === 'lookBack' || underWay?.endPending !== undefined) return;
    const mark = memory.waitingMark();
    if (mark === undefined) return;
    // An append that is about to go is proof enough; one that rests after a refusal may rest for long.
    if (!trouble.resting && this.#parts.appends.wanted(service)) return;
    if (underWay !== undefined && underWay.proof > mark) return;
    this.#ask();
  }

  #ask(): void {
    const { log, partition, barrier, retries, position, silence } = this.#parts;
    const { term } = retries;
    const expected = { ...position.cursor };
    const proof = barrier.beginProof();
    this.#asking = true;
    this.unanswered = true;
    silence.begins();
    log.end(partition).then(
      (end) => {
        if (term === retries.term) this.#found(proof, end, expected);
      },
      (error: unknown) => {
        if (term === retries.term) this.#notFound(error);
      },
    );
  }

  /** `expected`: where we stood when the end was asked for. */
  #found(proof: number, end: number, expected: LogPosition): void {
    const { life, position, memory, findings } = this.#parts;
    const { service } = life;
    this.#asking = false;
    this.unanswered = false;
    if (service === undefined) return;
    try {
      // Asked before a doubt: it proves nothing about the memory that is served now.
      if (expected.epoch !== position.cursor.epoch) return memory.settleTurn();
      if (end < expected.offset) return findings.doubt(`the log ends at ${end}, but ${expected.offset} was confirmed`);
      this.#parts.appends.endFound(service, { proof, end });
      memory.settleTurn();
    } catch (error) {
      findings.fail(`a read could not be answered: ${errorText(error)}`, error);
    }
  }

  #notFound(error: unknown): void {
    const { retries, findings } = this.#parts;
    if (!(error instanceof LogError) || !retries.mayPass(error))
      return findings.fail(`the log cannot be asked: ${errorText(error)}`, error);
    retries.after(this.#parts.retryDelayMs, () => {
      this.#asking = false;
      this.prove();
    });
  }

  /** Watches the end of the log from now on, unless it does so already or nobody else can append. */
  watch(): void {
    const { log, barrier } = this.#parts;
    if (!this.#watching && !log.exclusive) this.#watch(barrier.mark());
  }

  #watch(markBefore: number): void {
    const { barrier, retries, life } = this.#parts;
    this.#watching = true;
    retries.after(this.#parts.watchIntervalMs, () => {
      const { service } = life;
      const isIdle = service !== undefined && service.underWay === undefined;
      const noneBegun = barrier.mark() === markBefore;
      if (isIdle && noneBegun && !this.#asking) this.#ask();
      this.#watch(barrier.mark());
    });
  }

  stop(): void {
    this.#asking = false;
    this.unanswered = false;
    this.#watching = false;
  }
}
