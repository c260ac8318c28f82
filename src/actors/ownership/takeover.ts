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
import { claimRecord } from './claim.ts';
import { settleDoubt } from './doubt-settlement.ts';
import { claimingWith } from './partition-life.ts';
import type { Appends } from './appends.ts';
import type { FoldTrouble, JournalFold } from './journal-fold.ts';
import type { AppendOutcome, LogRecord, SealedBatch } from '../log.ts';
import type { ClaimantOptions, Ownership } from './ownership.ts';
import type { Claiming, Doubt, LandedClaim, SentClaim } from './partition-life.ts';

export type TakeoverOptions = ClaimantOptions & {
  readonly journal: JournalFold;
  readonly appends: Appends;
  /** It serves from now on. */
  readonly onActive: () => void;
  /** There is a claim to append. */
  readonly append: () => void;
};

export class Takeover {
  readonly #ownership: Ownership;
  readonly #options: TakeoverOptions;
  #refolds = 0;

  constructor(ownership: Ownership, options: TakeoverOptions) {
    this.#ownership = ownership;
    this.#options = options;
  }

  /** How often memory was dropped and folded again, because others had written what counts. */
  get refolds(): number {
    return this.#refolds;
  }

  // ── Replay ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async begin(): Promise<void> {
    const { retries, findings } = this.#ownership;
    const { term } = retries;
    findings.statusChanged();
    const claiming = await this.#replay(undefined);
    if (term === retries.term && claiming !== undefined) this.claim(claiming);
  }

  /** New memory, filled from the journal up to our claim, or as far as it goes. Undefined: it came to nothing. */
  async #replay(landed: LandedClaim | undefined): Promise<Claiming | undefined> {
    const { life, retries, memory, findings } = this.#ownership;
    const { journal, witness } = this.#options;
    const { term } = retries;
    const opened = await journal.open(witness?.());
    if (term !== retries.term || opened === undefined) return undefined;
    if (opened.kind !== 'open') return this.#notFolded(opened);
    memory.create();
    life.enter('restored', { state: 'replaying' });
    findings.statusChanged();
    await this.#fold(landed === undefined ? opened.end : landed.offset + 1);
    if (term !== retries.term) return undefined;
    const trouble = journal.complete();
    if (trouble !== undefined) return this.#notFolded(trouble);
    const claiming = claimingWith(undefined, landed ?? { kind: 'none' });
    life.enter('replayed', claiming);
    findings.statusChanged();
    return claiming;
  }

  async #fold(until: number): Promise<void> {
    const { retries } = this.#ownership;
    const { term } = retries;
    const trouble = await this.#options.journal.to(until);
    if (term === retries.term && trouble !== undefined) this.#notFolded(trouble);
  }

  #notFolded(trouble: FoldTrouble): undefined {
    if (trouble.kind === 'vanished') this.#ownership.findings.vanished(trouble.found);
    else this.#ownership.findings.fail(trouble.reason, trouble.error);
  }

  // ── Claims ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  claim(claiming: Claiming, epoch = this.#ownership.position.cursor.epoch + 1): void {
    const ownerNonce = this.#options.random.nonce();
    claiming.ownNonces.add(ownerNonce);
    claiming.claim = { kind: 'wanted', own: { epoch, claim: { ownerNonce, owner: this.#options.owner } } };
    this.#options.append();
  }

  seal(claiming: Claiming): SealedBatch | undefined {
    if (claiming.claim.kind !== 'wanted') return undefined;
    const { own } = claiming.claim;
    const { claims, clock } = this.#options;
    const { position, barrier } = this.#ownership;
    const records = [claimRecord(claims, own.claim, own.epoch, position.nowMs(clock))];
    const proof = barrier.beginProof();
    claiming.claim = { kind: 'sent', own, proof };
    return { generation: proof, records };
  }

  settle(claiming: Claiming, outcome: AppendOutcome): void {
    const { claim } = claiming;
    const { position, logger, findings } = this.#ownership;
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
    const { life, trouble, findings } = this.#ownership;
    if (denied && !life.hasServed) return findings.fail(`the log cannot be written: ${reason}`, undefined);
    trouble.refused(reason);
    claiming.claim = { kind: 'wanted', own };
    trouble.rest();
  }

  /** A claim whose fate is unknown is followed by a higher one; unless a rival is at work, who must not be fenced in turn. */
  async #claimAgain(claiming: Claiming, epoch: number): Promise<void> {
    const { log, partition, retries, position, tail, findings } = this.#ownership;
    const { term } = retries;
    claiming.unanswered += 1;
    await retries.backOff(claiming.unanswered);
    if (term !== retries.term) return;
    const stretch = await retries.persist(async () => {
      const { end } = await log.bounds(partition);
      if (end < position.cursor.offset) return 'vanished';
      return tail.stretch(end, [], claiming.ownNonces);
    });
    if (term !== retries.term || stretch === undefined) return;
    if (stretch === 'vanished') return findings.vanished('the log is shorter');
    if (!stretch.intact) return findings.vanished('the last confirmed record was replaced');
    if (stretch.rival !== undefined) return findings.lost(stretch.rival);
    this.claim(claiming, epoch);
  }

  /** Our claim is in the log: what stands before it is final. */
  async #landed(claiming: Claiming, landed: LandedClaim): Promise<void> {
    const { retries, position, findings } = this.#ownership;
    const { term } = retries;
    let again: readonly (readonly LogRecord[])[] = [];
    if (claiming.doubt === undefined) await this.#fold(landed.offset + 1);
    else again = await this.#settle(claiming, claiming.doubt, landed);
    if (term !== retries.term) return;
    const owner = position.lastClaim;
    assert(owner !== undefined, 'a claim that does not count stands behind one that does');
    if (owner.ownerNonce !== landed.own.claim.ownerNonce) return findings.lost(owner);
    this.#activate(landed, again);
  }

  /** What is to be appended again, if memory stays. */
  async #settle({ ownNonces }: Claiming, doubt: Doubt, landed: LandedClaim): Promise<readonly (readonly LogRecord[])[]> {
    const { retries, position, tail, memory, logger, findings } = this.#ownership;
    const { term } = retries;
    const stretch = await retries.persist(() => tail.stretch(landed.offset + 1, doubt.sent, ownNonces));
    if (term !== retries.term || stretch === undefined) return [];
    const settlement = settleDoubt(stretch, doubt, landed.own);
    if (settlement.kind !== 'vanished' && stretch.found !== undefined) {
      this.#options.appends.confirm(doubt.sent, stretch.found);
      memory.release(() => term !== retries.term);
      if (term !== retries.term) return [];
    }
    switch (settlement.kind) {
      case 'memoryStays':
        position.renew(stretch, settlement.claim);
        logger.info('doubt settled, memory stays', { epoch: landed.own.epoch, appendedAgain: settlement.again.flat().length });
        return settlement.again;
      case 'foldAgain':
        await this.#refold(landed);
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

  async #refold(landed: LandedClaim): Promise<void> {
    const { life, memory, logger, name } = this.#ownership;
    logger.warn('doubt settled, memory is folded again', { until: landed.offset + 1 });
    life.enter('refold', { state: 'restoring' });
    this.#refolds += 1;
    memory.drop(`${name} lost an append and reads its journal again`);
    await this.#replay(landed);
  }

  #activate(landed: LandedClaim, again: readonly (readonly LogRecord[])[]): void {
    const { life, position, barrier, trouble, memory, logger, findings } = this.#ownership;
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
    this.#options.onActive();
  }
}
