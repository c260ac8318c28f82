/**
 * Proof that a read was not answered from superseded memory (docs/protocol.md, T7).
 *
 *     read arrives            proof asked for        proof obtained
 *     ─────┬──────────────────────┬──────────────────────┬──────▶
 *          └─ marks the present   └─ takes a number      └─ every read marked below that number may be answered
 *
 * A proof is a batch of ours that counted, or the log's end where we expected it. It must have been asked for after the read arrived:
 * an owner that was paused may hold an outcome that is older than its successor.
 */
export class ReadBarrier {
  readonly #exclusive: boolean;
  #begun = 0;
  #proven = 0;

  /** `exclusive`: nobody else can append, so nothing needs proof. */
  constructor(exclusive: boolean) {
    this.#exclusive = exclusive;
  }

  /** The mark of a read that arrives now. */
  mark(): number {
    return this.#begun;
  }

  beginProof(): number {
    this.#begun += 1;
    return this.#begun;
  }

  prove(proof: number): void {
    if (proof > this.#proven) this.#proven = proof;
  }

  passed(mark: number): boolean {
    return this.#exclusive || this.#proven > mark;
  }
}
