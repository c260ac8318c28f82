/**
 * Taking a partition over: the same path after a crash, a restart and a move; and once more, from its middle on, in doubt.
 *
 *     restoring ─▶ replaying ─▶ claiming: none ─▶ wanted ─▶ sent ─▶ landed ─▶ active
 *         ▲                                ▲       ▲         │        │
 *         │                                │       └ refused ┤        │
 *         │                                └──── unanswered ─┘        │
 *         └──────── memory in doubt is not what the log says ─────────┘
 *
 * A claim whose fate is open is followed by a higher one. One that has landed ends what is read: the journal up to it is folded, or what
 * was in doubt is settled, and if no other claim beat it, the partition is ours.
 */
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { claimRecord, type ClaimInLog, type Stretch } from './effective.ts';
import { claimingWith, type Claiming, type Doubt, type LandedClaim, type OwnClaim, type SentClaim } from './partition-life.ts';
import type { Restored } from '../../projections/database-port.ts';
import type { Appends } from './appends.ts';
import type { FoldTrouble, JournalFold, MayLack } from './journal-fold.ts';
import { type JournalTail, unnamedOwner } from './log-stretch.ts';
import { LogError, type AppendOutcome, type LogRecord, type SealedBatch } from '../../ports/log.ts';
import type { ClaimantOptions, Ownership } from './ownership.ts';
import type { Restoration } from './restoration.ts';

type TakeoverParts = Ownership &
  ClaimantOptions & {
    readonly journal: JournalFold;
    readonly tail: JournalTail;
    readonly appends: Appends;
    readonly restoration: Restoration;
    readonly mayLack?: MayLack;
    readonly onActive: () => void;
    readonly append: () => void;
  };

export class Takeover {
  readonly #parts: TakeoverParts;
  refolds = 0;
  #whenClaimed: ((offset: number) => void)[] = [];

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  /** Called with the offset of the next claim that counts, unless memory is lost before. */
  whenClaimed(claimed: (offset: number) => void): void {
    this.#whenClaimed.push(claimed);
  }

  // ── Replay ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async begin(): Promise<void> {
    const { retries, findings } = this.#parts;
    const { term } = retries;
    findings.statusChanged();
    const claiming = await this.#replay(undefined);
    if (term === retries.term && claiming !== undefined) this.claim(claiming);
  }

  /** New memory, filled from the checkpoint, then from the journal up to our claim, or as far as it goes. Undefined: it came to nothing. */
  async #replay(landed: LandedClaim | undefined): Promise<Claiming | undefined> {
    const { life, retries, findings, journal } = this.#parts;
    const { term } = retries;
    for (let attempt = 1; term === retries.term; attempt++) {
      const end = await this.#restore(landed).catch((error: unknown) => this.#notRestored(term, error));
      if (term !== retries.term || end === undefined) return undefined;
      life.enter('restored', { state: 'replaying' });
      findings.statusChanged();
      const trouble = (await journal.to(landed === undefined ? end : landed.offset + 1)) ?? journal.complete();
      if (term !== retries.term) return undefined;
      if (trouble === undefined) break;
      if (!this.#isOvertaken(trouble)) return this.#notFolded(trouble);
      this.#dropMemory(trouble.found);
      await retries.backOff(attempt);
    }
    if (term !== retries.term) return undefined;
    const claiming = claimingWith(undefined, landed ?? { kind: 'none' });
    life.enter('replayed', claiming);
    findings.statusChanged();
    return claiming;
  }

  /** New memory with the rows of the last checkpoint, and the journal opened behind it. Its end; undefined: it came to nothing. */
  async #restore(landed: LandedClaim | undefined): Promise<number | undefined> {
    const { retries, memory, restoration, clock } = this.#parts;
    const { term } = retries;
    for (let attempt = 1; term === retries.term; attempt++) {
      const found = await this.#findStart();
      if (term !== retries.term || found === undefined) return undefined;
      const { restored, start, end } = found;
      if (landed !== undefined && start > landed.offset) return this.#overtaken(landed, start);
      memory.create(start);
      this.#whenClaimed = [];
      if (restored === undefined) return end;
      const beganMs = clock.monoMs();
      try {
        await memory.install(restored);
        if (term !== retries.term) return undefined;
        restoration.over();
        return end;
      } catch (error) {
        if (term !== retries.term) return undefined;
        if (!restoration.failed(error)) throw error;
        memory.drop(`${this.#parts.name} waits for its database`);
        // Perhaps another restores as well, and each takes the fence from the other.
        await retries.giveWay(attempt, clock.monoMs() - beganMs);
      }
    }
    return undefined;
  }

  /** A journal that starts behind a checkpoint was trimmed behind a later one, if another has restored: asked again until the same is told. */
  async #findStart(): Promise<{ restored: Restored | undefined; start: number; end: number } | undefined> {
    const { retries, journal, witness, restoration } = this.#parts;
    const { term } = retries;
    for (let before: Restored | undefined; ;) {
      // Without a database nothing is waited for.
      const restored = restoration.usesCheckpoints ? await restoration.restore() : undefined;
      if (term !== retries.term || restored === 'over') return undefined;
      const isSame = before !== undefined && before.position?.nextOffset === restored?.position?.nextOffset;
      const opened = await journal.open(restored?.position, witness?.(), isSame || restored?.position === undefined);
      if (term !== retries.term || opened === undefined) return undefined;
      if (opened.kind === 'open') return { restored, ...opened };
      if (opened.kind !== 'trimmed' || restored === undefined || isSame) return this.#notFolded(opened);
      before = restored;
    }
  }

  /** The journal, or what is behind the checkpoint, begins behind our claim: only an owner brings that about, and it has claimed since. */
  #overtaken({ own }: LandedClaim, start: number): undefined {
    const { position, findings } = this.#parts;
    findings.lost(unnamedOwner(Math.max(position.cursor.epoch, own.epoch + 1), position.last?.offset ?? start));
  }

  #notRestored(term: number, error: unknown): undefined {
    if (error instanceof LogError || !this.#parts.restoration.usesCheckpoints) throw error;
    if (term === this.#parts.retries.term) this.#parts.findings.fail(`its checkpoint cannot be restored: ${errorText(error)}`, error);
  }

  async #fold(landed: LandedClaim): Promise<void> {
    const { retries } = this.#parts;
    const { term } = retries;
    const trouble = await this.#parts.journal.to(landed.offset + 1);
    if (term !== retries.term || trouble === undefined) return;
    if (!this.#isOvertaken(trouble)) return this.#notFolded(trouble);
    this.#dropMemory(trouble.found);
    await this.#replay(landed);
  }

  /** Whoever restored behind us has what is to be loaded; or wrote a checkpoint, or what counts again, and trimmed behind it: it is begun anew. */
  #isOvertaken(trouble: FoldTrouble): trouble is Extract<FoldTrouble, { readonly kind: 'trimmed' | 'fenced' }> {
    const { restoration, mayLack } = this.#parts;
    return trouble.kind === 'fenced' || (trouble.kind === 'trimmed' && (restoration.usesCheckpoints || mayLack !== undefined));
  }

  #notFolded(trouble: FoldTrouble): undefined {
    if (trouble.kind === 'unreadable') this.#parts.findings.fail(trouble.reason, trouble.error);
    else this.#parts.findings.vanished(trouble.found);
  }

  #dropMemory(why: string): void {
    const { life, memory, name } = this.#parts;
    life.enter('refold', { state: 'restoring' });
    this.refolds += 1;
    memory.drop(`${name} reads its journal again: ${why}`);
  }

  // ── Claims ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  claim(claiming: Claiming, epoch = this.#parts.position.cursor.epoch + 1): void {
    const ownerNonce = this.#parts.random.nonce();
    claiming.ownNonces.add(ownerNonce);
    claiming.claim = { kind: 'wanted', own: { epoch, claim: { ownerNonce, owner: this.#parts.owner } } };
    this.#parts.append();
  }

  seal(claiming: Claiming): SealedBatch | undefined {
    if (claiming.claim.kind !== 'wanted') return undefined;
    const { own } = claiming.claim;
    const { claims, clock, position, barrier } = this.#parts;
    const records = [claimRecord(claims, own.claim, own.epoch, position.nowMs(clock))];
    const proof = barrier.beginProof();
    claiming.claim = { kind: 'sent', own, proof };
    return { generation: proof, records };
  }

  settle(claiming: Claiming, outcome: AppendOutcome): void {
    const { claim } = claiming;
    const { position, logger, findings } = this.#parts;
    // The outcome of an append that was given up: what became of it, the log will tell.
    if (claim.kind !== 'sent' || outcome.generation !== claim.proof) return;
    switch (outcome.kind) {
      case 'appended': {
        const offset = outcome.baseOffset;
        if (offset < position.cursor.offset) return findings.vanished(`a claim landed at ${offset}`);
        const landed: LandedClaim = { ...claim, kind: 'landed', offset };
        claiming.claim = landed;
        return findings.background(this.#landed(claiming, landed));
      }
      case 'refused':
        return this.#refused(claiming, claim, outcome.reason, outcome.denied === true);
      case 'unknown':
        logger.warn('a claim was not answered', { reason: outcome.reason, epoch: claim.own.epoch });
        claiming.claim = { kind: 'none' };
        return findings.background(this.#claimAgain(claiming, claim.own.epoch + 1));
      case 'failed':
        return findings.fail(`a claim cannot be sent: ${errorText(outcome.error)}`, outcome.error);
      default:
        return unreachable(outcome);
    }
  }

  /** It is in the log neither now nor later: the same claim once more. */
  #refused(claiming: Claiming, { own }: SentClaim, reason: string, denied: boolean): void {
    const { life, trouble, findings } = this.#parts;
    if (denied && !life.hasServed) return findings.fail(`the log cannot be written: ${reason}`, undefined);
    trouble.refused(reason);
    claiming.claim = { kind: 'wanted', own };
    trouble.rest();
  }

  /** A claim whose fate is unknown is followed by a higher one; unless a rival is at work, who must not be fenced in turn. */
  async #claimAgain(claiming: Claiming, epoch: number): Promise<void> {
    const { log, partition, retries, position, findings } = this.#parts;
    const { term } = retries;
    claiming.unanswered += 1;
    await retries.backOff(claiming.unanswered);
    if (term !== retries.term) return;
    const stretch = await retries.persist(async () => {
      const { end } = await log.bounds(partition);
      if (end < position.cursor.offset) return 'vanished';
      return this.#parts.tail.stretch(end, [], claiming.ownNonces);
    });
    if (term !== retries.term || stretch === undefined) return;
    if (stretch === 'vanished') return findings.vanished('the log is shorter');
    if (!stretch.intact) return findings.vanished('the last confirmed record was replaced');
    if (stretch.rival !== undefined) return findings.lost(stretch.rival);
    this.claim(claiming, epoch);
  }

  /** Our claim is in the log: what stands before it is final. */
  async #landed(claiming: Claiming, landed: LandedClaim): Promise<void> {
    const { retries, position, findings } = this.#parts;
    const { term } = retries;
    let again: readonly (readonly LogRecord[])[] = [];
    if (claiming.doubt === undefined) await this.#fold(landed);
    else again = await this.#settle(claiming, claiming.doubt, landed);
    if (term !== retries.term) return;
    // A claim that does not count stands behind one that does, be it below the checkpoint from which this memory was made.
    const owner = position.lastClaim ?? unnamedOwner(position.cursor.epoch, position.last?.offset ?? 0);
    if (owner.ownerNonce !== landed.own.claim.ownerNonce) return findings.lost(owner);
    this.#activate(landed, again);
  }

  async #settle({ ownNonces }: Claiming, doubt: Doubt, landed: LandedClaim): Promise<readonly (readonly LogRecord[])[]> {
    const { retries, position, memory, logger, findings } = this.#parts;
    const { term } = retries;
    const stretch = await retries.persist(() => this.#parts.tail.stretch(landed.offset + 1, doubt.sent, ownNonces));
    if (term !== retries.term || stretch === undefined) return [];
    const settlement = settleDoubt(stretch, doubt, landed.own);
    if (settlement.kind !== 'vanished' && stretch.found !== undefined) {
      this.#parts.appends.confirm(doubt.sent, stretch.found);
      memory.releaseAll(() => term !== retries.term);
      if (term !== retries.term) return [];
    }
    switch (settlement.kind) {
      case 'memoryStays': {
        position.renew(stretch, settlement.claim);
        const told = { epoch: landed.own.epoch, appendedAgain: settlement.again.flat().length };
        logger.info('the outcome of an append is known again: memory is kept', told);
        return settlement.again;
      }
      case 'foldAgain':
        logger.warn('the outcome of an append is known again: memory is replayed from the log', { until: landed.offset + 1 });
        this.#dropMemory('it lost an append');
        await this.#replay(landed);
        return [];
      case 'lost':
        findings.lost(settlement.rival);
        return [];
      case 'vanished':
        findings.vanished(settlement.found);
        return [];
      default:
        return unreachable(settlement);
    }
  }

  #activate(landed: LandedClaim, again: readonly (readonly LogRecord[])[]): void {
    const { life, position, barrier, trouble, memory, logger, findings } = this.#parts;
    const { now } = life;
    assert(now.state === 'claiming', 'a claim is followed by service');
    life.enter('claimed', { state: 'active', service: { underWay: undefined, suspect: false, again: [...again] } });
    trouble.over();
    barrier.prove(landed.proof);
    findings.statusChanged();
    if (now.doubt === undefined) {
      const { epoch, offset } = position.cursor;
      logger.debug('ownership taken', { epoch, offset });
      memory.activated(epoch);
    }
    this.#parts.onActive();
    for (const claimed of this.#whenClaimed.splice(0)) claimed(landed.offset);
  }
}

/**
 * An append is in doubt: it may be in the log, or land there later. A claim of the next epoch settles it. Once that is in the log, what was
 * sent belongs to an older epoch, so a copy that lands behind the claim is void for ever, and what stands before it no longer changes:
 *
 *     only the batch         confirmed                                                          ┐ memory is what the log says, and what
 *     nothing that counts    the records go again, under the new epoch, before all that is open ┘ is still to be appended: it stays
 *     a rival, or records    memory is dropped and folded again from the log; so it is where another has raised the fence of the checkpoints
 *     that are not ours      meanwhile: memory and its rows no longer belong together
 *
 * So a record is in the log more than once only if the log took one send twice, and even then it counts once: its copies bear the same
 * epoch and sequence, or the epoch of all but one is over.
 */

type Settlement =
  | { readonly kind: 'vanished'; readonly found: string }
  /** `again`: to be appended before all that is open, the first one first. */
  | { readonly kind: 'memoryStays'; readonly claim: ClaimInLog; readonly again: readonly (readonly LogRecord[])[] }
  | { readonly kind: 'foldAgain' }
  | { readonly kind: 'lost'; readonly rival: ClaimInLog };

/** `stretch`: from the last record that was confirmed to our claim. A batch that was found there counts, whatever becomes of memory. */
function settleDoubt(stretch: Stretch, doubt: Doubt, own: OwnClaim): Settlement {
  if (!stretch.intact) return { kind: 'vanished', found: 'the last confirmed record was replaced' };
  const { owner, found } = stretch;
  assert(owner !== undefined, 'our claim, or the one that beat it, stands in the stretch');
  if (owner.ownerNonce !== own.claim.ownerNonce) return { kind: 'lost', rival: owner };
  if (stretch.foreign || stretch.rival !== undefined || doubt.dropsMemory) return { kind: 'foldAgain' };
  const goesAgain = found === undefined && doubt.sent.length > 0;
  return { kind: 'memoryStays', claim: owner, again: goesAgain ? [doubt.sent, ...doubt.again] : doubt.again };
}
