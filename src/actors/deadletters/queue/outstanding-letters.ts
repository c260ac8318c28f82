/**
 * Letters that shards execute, or have executed, and whose outcomes are not written in the queue: a merge has waited for too long, or the owner of the
 * queue was another then. Shards are asked for them, all of them once when the queue is taken over, then those that have some, until none is left.
 *
 *     pending ─▶ asked for again, ever more rarely
 *     ended ───▶ its outcome is written, unless a job has the letter, which asks for it himself ─▶ confirmed
 *     resolved ▶ confirmed: its confirmation was lost
 *
 * So no selection has to be merged again before others find room in the shards, and no letter is purged whose task waits in one.
 */
import { ownWork } from '../../asks/asks.ts';
import type { DeadLetterCommand } from '../../../deadletters/letter-commands.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { LetterName, ListLetterMarks } from '../../../history/commands/redrive-commands.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import type { Asker, HistoryAnswer } from '../../asks/router.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { Clock } from '../../../ports/machine.ts';

export type OutstandingLettersOptions = {
  readonly queue: () => number;
  readonly core: Pick<QueueCore, 'state'>;
  readonly router: Pick<Asker, 'askHistory'>;
  readonly historyShards: number;
  /** Purges can be undone as things stand: what was purged may be asked for once more. */
  readonly mayRestore: () => boolean;
  /** What its outcome says is written, unless it was, or a job asks for it. Never rejects. */
  readonly settle: (shard: number, letter: LetterName) => Promise<void>;
  /** The shard may forget it. */
  readonly confirm: (shard: number, letter: LetterName) => void;
  readonly tenure: Pick<Tenure<DeadLetterCommand>, 'active' | 'after' | 'submit'>;
  readonly clock: Clock;
};

const LOOK_TIMEOUT_MS = 10_000;
const LOOK_AGAIN_MS = 1_000;
const LOOK_AGAIN_MS_MAX = 30_000;
const LOOKS_AFTER_ASK = 5;
/** A shard that is taken over, too, answers within that; one that is away for longer holds up its own letters alone. */
const ALL_SHARDS_WAIT_MS = 60_000;
const LOOKS_MAX = 8;

/** `looksMin`: whoever was asked to execute a letter, and has not said that he does, may begin it yet. */
type Look = { tries: number; looksMin: number };

export class OutstandingLetters {
  readonly #options: OutstandingLettersOptions;
  /** Shards that have not been asked since the queue was taken over. */
  readonly #unknown = new Set<number>();
  readonly #looks = new Map<number, Look>();
  readonly #shards = new Map<number, number>();
  readonly #line: number[] = [];
  #underWay = 0;
  #beganMs = 0;

  constructor(options: OutstandingLettersOptions) {
    this.#options = options;
  }

  activated(): void {
    this.#beganMs = this.#options.clock.monoMs();
    for (let shard = 1; shard <= this.#options.historyShards; shard++) {
      this.#unknown.add(shard);
      this.#begin(shard, 1);
    }
  }

  /** Why nothing is purged yet; undefined: it may be, each letter when its own shard has said that it is not executed. */
  get trouble(): string | undefined {
    const [shard] = this.#unknown;
    if (shard === undefined || this.#options.clock.monoMs() - this.#beganMs >= ALL_SHARDS_WAIT_MS) return undefined;
    return `history shard ${shard} has not reported yet which dead letters of this queue it is executing: try again. Nothing was changed`;
  }

  /** False: each letter that is to be purged is asked for at its own shard. */
  get knowsAll(): boolean {
    return this.#unknown.size === 0;
  }

  hasSaid(shard: number): boolean {
    return !this.#unknown.has(shard);
  }

  /** The shard that has a mark of this letter; undefined: no such shard is known. */
  shardOf(messageId: number): number | undefined {
    return this.#shards.get(messageId);
  }

  note(messageId: number, shard: number): void {
    this.#shards.set(messageId, shard);
    this.look(shard);
  }

  resolved(messageId: number): void {
    this.#shards.delete(messageId);
  }

  look(shard: number): void {
    this.#begin(shard, LOOKS_AFTER_ASK);
  }

  #begin(shard: number, looksMin: number): void {
    const look = this.#looks.get(shard);
    if (look !== undefined) return void Object.assign(look, { tries: 0, looksMin });
    this.#looks.set(shard, { tries: 0, looksMin });
    this.#line.push(shard);
    this.#next();
  }

  #next(): void {
    while (this.#options.tenure.active && this.#underWay < LOOKS_MAX) {
      const shard = this.#line.shift();
      if (shard === undefined) return;
      this.#underWay += 1;
      void this.#ask(shard).then((isDone) => {
        this.#underWay -= 1;
        this.#asked(shard, isDone);
        this.#next();
      });
    }
  }

  #asked(shard: number, isDone: boolean): void {
    const look = this.#looks.get(shard);
    if (look === undefined) return;
    if (isDone && look.tries >= look.looksMin) return void this.#looks.delete(shard);
    this.#options.tenure.after(backOffMs(look.tries, LOOK_AGAIN_MS, LOOK_AGAIN_MS_MAX), () => {
      this.#line.push(shard);
      this.#next();
    });
  }

  /** True: it has none. */
  async #ask(shard: number): Promise<boolean> {
    const { queue, router, clock, tenure } = this.#options;
    const look = this.#looks.get(shard);
    if (look !== undefined) look.tries += 1;
    const answer = await new Promise<HistoryAnswer<ListLetterMarks>>((resolve) => {
      router.askHistory(shard, { kind: 'listLetterMarks', queue: queue() }, ownWork(clock.monoMs() + LOOK_TIMEOUT_MS), resolve);
    });
    if (answer.kind !== 'letterMarks' || !tenure.active) return false;
    const { pending, ended } = answer;
    const messageIds = [...pending, ...ended].map(({ messageId }) => messageId);
    for (const messageId of messageIds) this.#shards.set(messageId, shard);
    if (messageIds.length > 0) tenure.submit({ kind: 'noteOutstanding', messageIds });
    this.#unknown.delete(shard);
    for (const letter of ended) if (tenure.active) await this.#ended(shard, letter);
    return messageIds.length === 0;
  }

  async #ended(shard: number, letter: LetterName): Promise<void> {
    const { core, mayRestore, confirm, settle } = this.#options;
    const { ids } = core.state;
    const { messageId } = letter;
    if (ids.isLetter(messageId)) await settle(shard, letter);
    else if (ids.statusOf(messageId) !== 'purged' || !mayRestore()) confirm(shard, letter);
  }
}
