/**
 * The consequences of the commit protocol (docs/protocol.md, T1 to T11), one named scenario each. They are plain functions that
 * throw, so that the planted bugs can be run against them as well as the test runner.
 */
import { effective, mayReplace } from '../../src/actors/ownership/effective.ts';
import { ledgerJournal } from '../actors/ledger-checkpoints.ts';
import { jsonClaims, ledgerCodec } from '../actors/ledger.ts';
import { lettersAreConserved } from '../actors/deadletters/conserved-queue.ts';
import {
  lettersOfOneNamespaceLeaveRoomForOthers,
  nothingIsHandedOverAheadOfTheLog,
  outcomesThatNobodyWaitsForAreWritten,
  whatFailsHoldsUpNoOther,
  whatFailsStaysUntilItsNextAttempt,
  whatHasLeftItsShardIsNotWithdrawn,
  whatIsHandedOverIsTriedNoMore,
  whatMayBeExecutedIsNotPurgedUnasked,
  whatMetNobodyIsNoFailure,
} from './dead-letter-scenarios.ts';
import {
  closedIsTakenBack,
  irrelevantTimerLeavesNoTrace,
  deletedIsHeardOf,
  lostStartIsNoOrphan,
  putAsideWaits,
  refusedRecordKeepsWaits,
  rowsAreTheStateAtTheCut,
  unwrittenStaysInMemory,
  deletedRunsStayDeleted,
  cancelledTimersStayAway,
  farTimersComeBack,
  whatAPagePassesOverStays,
  whatIsRefusedHasItsTurn,
  whatMatchingHasIsPassedOver,
  aTakeoverReadsAllTasks,
  windowsShareTheLaneOfWrites,
  filterKnowsWhatBeginsMeanwhile,
  nothingIsWrittenUponABackup,
  rowsAreNotAheadOfTheLog,
  pointerStaysWithItsRun,
} from './history-scenarios.ts';
import {
  anotherTaskUnderAKnownNumberIsAnotherLetter,
  aPlanIsGoodInItsIncarnationAlone,
  noLetterIsTakenForAnother,
} from './incarnation-scenarios.ts';
import { Cluster, partitionId, simLimits } from './cluster.ts';
import { checkJournal, checkMemory, checkObservations, checkRefusals, check, entriesThatCount, type Tries } from './oracle.ts';
import { Prng } from './prng.ts';
import { SimBroker } from './sim-log.ts';
import { World } from './world.ts';
import type { LogCursor } from '../../src/actors/ownership/effective.ts';
import type { LogRecord, StoredRecord } from '../../src/ports/log.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';
import type { LedgerCommand } from '../actors/ledger.ts';
import type { Answer, Server } from './cluster.ts';
import type { Projection } from './projection.ts';
import type { AppendFate } from './sim-log.ts';

/** Two servers on one log; nothing goes wrong unless it is asked to. */
class Stage {
  readonly world = new World(new Prng(7));
  readonly broker = new SimBroker(this.world, { rates: {}, timeoutMs: 50, delayMsMax: 2, lateMsMax: 0 }, false);
  readonly cluster: Cluster;
  readonly a: Server;
  readonly b: Server;
  readonly statuses: string[] = [];

  /** `database`: with one, in which checkpoints are written often. */
  constructor(options: { readonly database?: boolean } = {}) {
    const database = { rates: {}, writeMsMax: 20, trimShare: 0, delayMsMax: 2, lateMsMax: 0 };
    const withDatabase = options.database === true ? { database } : {};
    this.cluster = new Cluster(this.world, this.broker, { servers: 2, partitions: 1, ...withDatabase });
    this.a = this.cluster.server(0);
    this.b = this.cluster.server(1);
    this.cluster.onStatus = (server, _partition, status) => this.statuses.push(`${server.node.name} ${status.state}`);
  }

  get records(): StoredRecord[] {
    return this.broker.records(partitionId(0));
  }

  entries(): string[] {
    return entriesThatCount(this.records).map(({ id }) => id);
  }

  /** Of the last entry. */
  entriesEnd(): number {
    return entriesThatCount(this.records).at(-1)?.offset ?? -1;
  }

  status(server: Server): PartitionStatus {
    return server.loop(0).status();
  }

  async until(what: string, done: () => boolean): Promise<void> {
    check(
      await this.world.run(this.world.nowMs + 10_000, done),
      'scenario',
      () => `never: ${what}; ${this.world.lastTrace.slice(-12).join(' | ')}`,
    );
  }

  async pass(ms: number): Promise<void> {
    await this.world.run(this.world.nowMs + ms);
  }

  async active(server: Server): Promise<void> {
    server.start(0);
    await this.until(`${server.node.name} active`, () => this.status(server).state === 'active');
  }

  /** The fates of the next appends, in order. */
  next(...fates: AppendFate[]): void {
    this.broker.script.push(...fates);
  }

  send(server: Server, command: LedgerCommand, timeoutMs = 5_000): { answer: Answer | undefined } {
    const box: { answer: Answer | undefined } = { answer: undefined };
    this.cluster.ask(server, 0, command, timeoutMs, (answer) => (box.answer = answer));
    return box;
  }

  async ask(server: Server, command: LedgerCommand, timeoutMs = 5_000): Promise<Answer> {
    const box = this.send(server, command, timeoutMs);
    await this.until(`an answer to ${command.kind}`, () => box.answer !== undefined);
    if (box.answer === undefined) throw new Error('there is an answer');
    return box.answer;
  }

  add(server: Server, id: string): Promise<Answer> {
    return this.ask(server, { kind: 'add', id });
  }

  /** Something that is in the log without anyone of ours having sent it. */
  inject(...records: Partial<LogRecord>[]): void {
    const full = records.map((record) => ({
      ...ledgerCodec.encode({ id: 'ghost', timeMs: 1, size: 0 }),
      epoch: 0,
      sequence: 0,
      ...record,
    }));
    this.broker.append(partitionId(0), full, 'nobody');
  }

  /** What happens in the log when the next append arrives there. */
  atNextAppend(happens: (append: () => number) => number): void {
    const { broker } = this;
    const append = broker.append.bind(broker);
    broker.append = (id, batch, who) => {
      broker.append = append;
      return happens(() => append(id, batch, who));
    };
  }

  /** What happens while the next question for the log's end is on its way. */
  atNextEnd({ log }: Server, happens: () => void): void {
    const end = log.end.bind(log);
    log.end = (id) => {
      log.end = end;
      happens();
      return end(id);
    };
  }

  /** Of the last checkpoint that is durable; -1 = none. */
  get checkpointed(): number {
    return this.cluster.disk?.tables.journal(ledgerJournal(0)).position?.lastOffset ?? -1;
  }

  /** Every scenario ends with the checks of the random runs. */
  checkAll(): void {
    const entries = entriesThatCount(this.records);
    checkJournal(entries);
    for (const memory of this.cluster.memories[0] ?? []) checkMemory(memory, entries);
    checkObservations(this.cluster.observations[0] ?? [], entries, this.cluster.firstInvoked[0] ?? new Map<string, number>());
    checkRefusals(this.cluster.tries[0] ?? new Map<string, Tries>(), entries);
  }
}

function claimOf(epoch: number, owner: string): Partial<LogRecord> {
  return { key: '@claim', epoch, sequence: 0, value: jsonClaims.encode({ ownerNonce: `of ${owner}`, owner }) };
}

function same(found: unknown, wanted: unknown, what: string): void {
  check(
    JSON.stringify(found) === JSON.stringify(wanted),
    'scenario',
    () => `${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`,
  );
}

export type Scenario = { readonly rule: string; readonly name: string; readonly run: () => Promise<void> };

export const scenarios: readonly Scenario[] = [
  { rule: 'T1', name: 'of two claims of one epoch the first in the log wins, and the loser names the winner', run: tieOfClaims },
  { rule: 'T1', name: 'an owner whose claim was not answered recognises it by its nonce', run: ownClaimUnanswered },
  { rule: 'T1', name: 'a claim that landed twice is one claim', run: claimTwice },
  {
    rule: 'T2',
    name: 'a batch that was given up and lands after the new claim does not take the number of an acknowledged one',
    run: lateBatch,
  },
  { rule: 'T2', name: 'a batch that timed out but is there is confirmed, and memory stays', run: unansweredBatch },
  {
    rule: 'T2',
    name: 'a batch that landed on both sides of a rival claim counts once, and its owner may come back',
    run: bothSidesOfRival,
  },
  { rule: 'T2', name: 'a rival that came and went during doubt is folded, not overlooked', run: rivalDuringDoubt },
  { rule: 'T3', name: 'the late outcome of an earlier append confirms nothing', run: lateOutcome },
  { rule: 'T4', name: 'records behind a gap in the stamps do not count, and to the owner they are doubt', run: gap },
  { rule: 'T4', name: 'a loss that left a gap in the stamps is told by every later owner', run: toldGap },
  { rule: 'T8', name: 'a hole in the offsets fails whoever folds over it', run: holeInFold },
  { rule: 'T8', name: 'a hole in the offsets fails an owner that judges over it', run: holeInStretch },
  { rule: 'T8', name: 'what strangers write is void and counted, be it a claim', run: strangers },
  { rule: 'T5', name: 'an append below the confirmed end stops the partition with an alarm', run: tailLostUnderOwner },
  {
    rule: 'T5',
    name: 'a takeover of a log that is shorter than a position known elsewhere stops with an alarm',
    run: tailLostBeforeTakeover,
  },
  { rule: 'T5', name: 'a log that is cut off while it is folded stops the partition with an alarm', run: tailLostUnderFold },
  { rule: 'T5', name: 'a claim that is cut off again stops the partition with an alarm', run: claimLost },
  { rule: 'T6', name: 'after a lost connection the last confirmed record must be found unchanged', run: tailReplaced },
  { rule: 'T6', name: 'after a leader change nothing is confirmed before the tail was looked at', run: leaderChanged },
  {
    rule: 'T6',
    name: 'a leader change while the end is asked for: no read is answered before the tail was looked at',
    run: leaderChangedInProof,
  },
  { rule: 'T6', name: 'a tail that is cut and written over while a takeover claims is noticed', run: tailReplacedUnderClaim },
  { rule: 'T7', name: 'an owner that was paused over a takeover answers no read', run: pausedReader },
  { rule: 'T7', name: 'an idle owner answers reads with proof, without an append', run: provenRead },
  { rule: 'T8', name: 'owner and other readers fold the same from a journal full of void records', run: oneFold },
  { rule: 'T2', name: 'a refused batch goes again as it was, in its epoch, before what gathered since', run: refusedBatch },
  { rule: 'T2', name: 'a batch that is too large goes again in halves, in order', run: halvedBatch },
  { rule: 'T2', name: 'a refused claim goes again as it was', run: refusedClaim },
  { rule: 'T2', name: 'a batch that is absent when doubt is settled goes again under the new epoch, and memory stays', run: absentBatch },
  { rule: 'T6', name: 'a refused batch does not go again before the tail was looked at', run: refusedOverLeaderChange },
  { rule: 'T9', name: 'in doubt nothing is sent again in its epoch', run: neverResent },
  { rule: 'T10', name: 'an idle owner notices its successor, and its long polls fail', run: idleFenced },
  { rule: 'T11', name: 'a fenced owner does not overwrite what its successor derived', run: guardedProjection },
  {
    rule: 'T12',
    name: 'an owner whose checkpoints are fenced, and that was not succeeded, makes new memory under a new fence',
    run: fencedOwner,
  },
  { rule: 'T13', name: 'a takeover begins at the checkpoint, and needs its last record alone of what stands before', run: trimmedJournal },
  { rule: 'T13', name: 'a journal that starts behind the last record of the checkpoint stops the partition', run: trimmedTooFar },
  { rule: 'T5', name: 'a journal that ends before the checkpoint stops the partition', run: tailLostBehindCheckpoint },
  { rule: 'I7', name: 'a record that is refused for its size leaves everybody waiting', run: scenario(refusedRecordKeepsWaits) },
  { rule: 'I7', name: 'a timer that turns out irrelevant leaves no trace', run: scenario(irrelevantTimerLeavesNoTrace) },
  { rule: 'I7', name: 'what is put aside waits, whatever follows', run: scenario(putAsideWaits) },
  { rule: 'I7', name: 'what was put aside and closes is taken back', run: scenario(closedIsTakenBack) },
  { rule: 'I7', name: 'what fails stays until its next attempt', run: scenario(whatFailsStaysUntilItsNextAttempt) },
  { rule: 'I7', name: 'what fails holds up no other', run: scenario(whatFailsHoldsUpNoOther) },
  { rule: 'I7', name: 'what met nobody is no failure', run: scenario(whatMetNobodyIsNoFailure) },
  { rule: 'I7', name: 'what is handed over is tried no more', run: scenario(whatIsHandedOverIsTriedNoMore) },
  { rule: 'I10', name: 'nothing is handed over ahead of the log', run: scenario(nothingIsHandedOverAheadOfTheLog) },
  { rule: 'I11', name: 'what may be executed is not purged unasked', run: scenario(whatMayBeExecutedIsNotPurgedUnasked) },
  { rule: 'I11', name: 'what has left its shard is not withdrawn', run: scenario(whatHasLeftItsShardIsNotWithdrawn) },
  { rule: 'I11', name: 'letters of one namespace leave room for others', run: scenario(lettersOfOneNamespaceLeaveRoomForOthers) },
  { rule: 'I11', name: 'outcomes that nobody waits for are written', run: outcomesThatNobodyWaitsForAreWritten },
  { rule: 'I7', name: 'a child whose start was answered into the void is no orphan', run: scenario(lostStartIsNoOrphan) },
  { rule: 'I7', name: 'a child that is deleted is heard of', run: scenario(deletedIsHeardOf) },
  { rule: 'I3', name: 'rows are the state at the cut, whatever happens until they are written', run: scenario(rowsAreTheStateAtTheCut) },
  { rule: 'I3', name: 'what is not written stays in memory', run: scenario(unwrittenStaysInMemory) },
  { rule: 'I3', name: 'runs that were deleted while they were loaded stay deleted', run: scenario(deletedRunsStayDeleted) },
  { rule: 'I7', name: 'a far timer stays until it is written, and comes back', run: scenario(farTimersComeBack) },
  { rule: 'I7', name: 'a timer stays that a page has passed over', run: scenario(whatAPagePassesOverStays) },
  { rule: 'I7', name: 'a task for a worker that is refused has its turn', run: scenario(whatIsRefusedHasItsTurn) },
  { rule: 'I8', name: 'a page brings the tasks that wait for their turn alone', run: scenario(whatMatchingHasIsPassedOver) },
  { rule: 'I7', name: 'a takeover reads all tasks for workers, and offers its own once', run: scenario(aTakeoverReadsAllTasks) },
  { rule: 'I3', name: 'a timer that is cancelled in the table alone does not come back', run: scenario(cancelledTimersStayAway) },
  { rule: 'I3', name: 'a window that was read before a write is installed before it', run: windowsShareTheLaneOfWrites },
  { rule: 'T12', name: 'nothing is written upon a backup that was put in place', run: nothingIsWrittenUponABackup },
  { rule: 'I10', name: 'List is not ahead of the log', run: scenario(rowsAreNotAheadOfTheLog) },
  { rule: 'I1', name: 'a filter knows the workflow ids that begin while it is built', run: scenario(filterKnowsWhatBeginsMeanwhile) },
  { rule: 'I1', name: 'a workflow id stays with its newest run when an older one is retired', run: pointerStaysWithItsRun },
  { rule: 'I20', name: 'no letter is taken for another, whatever topics are deleted', run: scenario(noLetterIsTakenForAnother) },
  { rule: 'I20', name: 'a plan is good in its incarnation alone', run: scenario(aPlanIsGoodInItsIncarnationAlone) },
  { rule: 'I20', name: 'another task under a known number is another letter', run: scenario(anotherTaskUnderAKnownNumberIsAnotherLetter) },
  { rule: 'I11', name: 'dead letters are conserved', run: () => lettersAreConserved(1, 12) },
];

async function checkpointed(): Promise<Stage> {
  const stage = new Stage({ database: true });
  await stage.active(stage.a);
  for (const id of ['x', 'y', 'z']) await stage.add(stage.a, id);
  await stage.until('a checkpoint of all', () => stage.checkpointed === 3);
  return stage;
}

async function fencedOwner(): Promise<void> {
  const stage = await checkpointed();
  const core = stage.a.core(0);
  void stage.b.database?.restore(ledgerJournal(0));
  await stage.pass(20);
  same((await stage.add(stage.a, 'v')).kind, 'added', 'it serves, whoever restores');
  await stage.until('restored again', () => stage.status(stage.a).refolds === 1 && stage.status(stage.a).state === 'active');
  check(stage.a.core(0) !== core, 'T12', () => 'memory of another fence was kept');
  same((await stage.add(stage.a, 'w')).kind, 'added', 'and serves on');
  await stage.until('a checkpoint', () => stage.checkpointed === stage.entriesEnd());
  stage.checkAll();
}

async function trimmedJournal(): Promise<void> {
  const stage = await checkpointed();
  stage.a.crash();
  stage.broker.startAt(partitionId(0), 3);
  await stage.active(stage.b);
  same(await stage.ask(stage.b, { kind: 'read' }), { kind: 'entries', entries: ['x', 'y', 'z'] }, 'all is there');
  same((await stage.add(stage.b, 'w')).kind, 'added', 'it serves');
  stage.checkAll();
}

async function trimmedTooFar(): Promise<void> {
  const stage = await checkpointed();
  await stage.add(stage.a, 'v');
  stage.a.crash();
  stage.broker.startAt(partitionId(0), stage.checkpointed + 1);
  stage.b.start(0);
  await stage.until('stopped', () => stage.status(stage.b).state === 'failed');
  const { reason } = stage.status(stage.b);
  const offsets = [stage.checkpointed + 1, stage.checkpointed].map((offset) => reason.includes(`offset ${offset}`));
  same(offsets, [true, true], `both offsets are named in "${reason}"`);
}

async function tailLostBehindCheckpoint(): Promise<void> {
  const stage = await checkpointed();
  stage.a.crash();
  stage.broker.loseTail(partitionId(0), 1);
  stage.b.start(0);
  await stage.until('stopped', () => stage.status(stage.b).state === 'failed');
  check(stage.status(stage.b).reason.includes('the checkpoint in the database reaches offset 4'), 'T5', () => stage.status(stage.b).reason);
}

async function tieOfClaims(): Promise<void> {
  const stage = new Stage();
  stage.a.start(0);
  stage.b.start(0);
  const decided = (server: Server): boolean => ['active', 'unassigned'].includes(stage.status(server).state);
  await stage.until('both decided', () => decided(stage.a) && decided(stage.b));
  const claims = stage.records.filter((record) => record.key === '@claim');
  same(
    claims.map(({ epoch }) => epoch),
    [1, 1],
    'claims',
  );
  const states = [stage.status(stage.a).state, stage.status(stage.b).state];
  same(states.toSorted(), ['active', 'unassigned'], 'states');
  const [winner, loser] = states[0] === 'active' ? [stage.a, stage.b] : [stage.b, stage.a];
  same(stage.status(loser).rival?.owner, winner.node.name, 'rival');
  same((await stage.add(winner, 'x')).kind, 'added', 'the winner serves');
  const refusal = await stage.add(loser, 'y');
  const told = refusal.kind === 'notHere' ? [refusal.hint, refusal.epoch] : refusal.kind;
  same(told, [winner.node.name, 1], 'the loser does not serve, and names who does');
  stage.checkAll();
}

async function ownClaimUnanswered(): Promise<void> {
  const stage = new Stage();
  stage.next('replyLost', 'replyLost');
  await stage.active(stage.a);
  same(
    stage.records.map(({ epoch }) => epoch),
    [1, 2, 3],
    'each unanswered claim is followed by a higher one',
  );
  same((await stage.add(stage.a, 'x')).kind, 'added', 'it serves');
  stage.checkAll();
}

async function claimTwice(): Promise<void> {
  const stage = new Stage();
  stage.next('twiceAtOnce');
  await stage.active(stage.a);
  same((await stage.add(stage.a, 'x')).kind, 'added', 'it serves');
  same(stage.status(stage.a).epoch, 1, 'epoch');
  same(stage.entries(), ['x'], 'entries');
  stage.checkAll();
}

async function lateBatch(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.next('late', 'ok');
  // The batch must land behind the claim: the fate lands it when the timeout is over, the claim is held until then.
  const given = stage.send(stage.a, { kind: 'add', id: 'y' });
  await stage.until('y given up', () => stage.status(stage.a).epoch === 2 && given.answer !== undefined);
  same(given.answer, { kind: 'added', place: 1 }, 'y is acknowledged');
  await stage.until('y landed', () => stage.records.some((record) => record.workflowId === 'y' && record.epoch === 1));
  same(stage.entries(), ['x', 'y'], 'and counts once');
  same((await stage.add(stage.a, 'z')).kind, 'added', 'z is acknowledged');
  // Whatever the order was: once more, surely behind.
  const { epoch, sequence } = stage.records.find((record) => record.workflowId === 'x') ?? { epoch: 0, sequence: 0 };
  stage.inject({ epoch, sequence: sequence + 1, workflowId: 'y' }, { epoch, sequence: sequence + 2, workflowId: 'y2' });
  same((await stage.add(stage.a, 'after')).kind, 'added', 'void records in the gap do not matter');
  check(stage.entries().includes('z') && !stage.entries().includes('y2'), 'scenario', () => stage.entries().join());
  stage.checkAll();
  stage.a.crash();
  await stage.active(stage.b);
  same(stage.b.core(0).entries, stage.entries(), 'the next owner folds the same');
}

async function unansweredBatch(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  const core = stage.a.core(0);
  stage.next('replyLost');
  const wait = stage.send(stage.a, { kind: 'await' });
  await stage.pass(10);
  const add = stage.send(stage.a, { kind: 'add', id: 'x' });
  await stage.pass(20);
  const during = stage.send(stage.a, { kind: 'add', id: 'y' });
  await stage.until('both answered', () => add.answer !== undefined && during.answer !== undefined);
  same(add.answer, { kind: 'added', place: 0 }, 'what was in doubt is confirmed');
  same(during.answer, { kind: 'added', place: 1 }, 'what gathered meanwhile goes on under the new epoch');
  same(wait.answer?.kind, 'entries', 'waits were kept');
  check(stage.a.core(0) === core, 'scenario', () => 'memory was dropped');
  same(
    stage.records.map(({ epoch, sequence }) => `${epoch}.${sequence}`),
    ['1.0', '1.1', '2.0', '2.1'],
    'stamps',
  );
  stage.checkAll();
}

async function bothSidesOfRival(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  stage.atNextAppend((append) => {
    append();
    stage.inject(claimOf(2, 'someone else'));
    return append();
  });
  same(await stage.add(stage.a, 'x'), { kind: 'added', place: 0 }, 'the first copy counts');
  same(stage.status(stage.a).rival?.owner, 'someone else', 'and then the partition is lost');
  await stage.active(stage.a);
  same(await stage.add(stage.a, 'y'), { kind: 'added', place: 1 }, 'it can be taken over again');
  stage.checkAll();
}

async function rivalDuringDoubt(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  // The batch and the first claim are lost; when the second claim lands, a rival has been there for a moment.
  stage.next('dropped', 'dropped');
  stage.atNextAppend((append) => {
    stage.inject(claimOf(2, 'someone else'));
    stage.inject({ epoch: 2, sequence: 1, workflowId: 'ghost' });
    return append();
  });
  same((await stage.add(stage.a, 'y')).kind, 'unavailable', 'y was lost');
  await stage.until('served again', () => stage.status(stage.a).state === 'active');
  same(stage.a.core(0).entries, ['x', 'ghost'], 'memory is what the log says');
  same(stage.status(stage.a).refolds, 1, 'refolds');
  // The same with nothing lost but an answer: the rival alone makes memory stale.
  const again = new Stage();
  await again.active(again.a);
  again.next('replyLost', 'dropped');
  const y = again.send(again.a, { kind: 'add', id: 'y' });
  await again.until('y is in the log', () => again.entries().includes('y'));
  again.atNextAppend((append) => {
    again.inject(claimOf(2, 'someone else'));
    again.inject({ epoch: 2, sequence: 1, workflowId: 'ghost' });
    return append();
  });
  await again.until('y answered', () => y.answer !== undefined);
  await again.until('served again', () => again.status(again.a).state === 'active');
  same(y.answer?.kind, 'added', 'y stands before the rival');
  same(again.a.core(0).entries, ['y', 'ghost'], 'memory is what the log says');
}

async function lateOutcome(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  stage.next('slow', 'dropped');
  const x = stage.send(stage.a, { kind: 'add', id: 'x' });
  await stage.until('x is decided', () => x.answer !== undefined);
  await stage.add(stage.a, 'z');
  same(stage.entries().filter((id) => id === 'z').length, 1, 'z counts once');
  check(stage.status(stage.a).epoch >= 3, 'scenario', () => 'a claim whose fate is unknown is followed by a higher one');
  stage.checkAll();
}

async function gap(): Promise<void> {
  const cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
  const claimValue = jsonClaims.encode({ ownerNonce: 'n', owner: 'o' });
  const record = (key: string, epoch: number, sequence: number): string =>
    effective(cursor, { key, epoch, sequence, offset: cursor.offset, value: claimValue }, jsonClaims);
  const verdicts = [record('@claim', 1, 0), record('k', 1, 1), record('k', 1, 3), record('k', 1, 4), record('k', 1, 2), record('k', 1, 3)];
  same(verdicts, ['claim', 'record', 'gap', 'gap', 'record', 'record'], 'verdicts');

  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.inject({ epoch: 1, sequence: 2, workflowId: 'ghost' });
  same((await stage.add(stage.a, 'y')).kind, 'unavailable', 'y stands behind a record that the owner never sent');
  await stage.until('served again', () => stage.status(stage.a).state === 'active');
  same(stage.status(stage.a).epoch, 2, 'a new claim settled it');
  same(stage.a.core(0).entries, ['x', 'ghost'], 'memory is what the log says');
  same((await stage.add(stage.a, 'z')).kind, 'added', 'it serves again');
}

async function toldGap(): Promise<void> {
  const stage = new Stage();
  const said: string[] = [];
  stage.cluster.said = (message) => said.push(message);
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  await stage.add(stage.a, 'y');
  // The tail is lost, and an append that was under way lands behind what is left.
  stage.a.crash();
  stage.broker.loseTail(partitionId(0), 1);
  stage.inject({ epoch: 1, sequence: 3, workflowId: 'z' });
  await stage.active(stage.b);
  same(stage.status(stage.b).strandedRecords, 1, 'records that cannot count');
  check(
    said.some((message) => message.includes('have vanished')),
    'scenario',
    () => said.join(),
  );
  same(stage.b.core(0).entries, ['x'], 'memory');
}

async function holeInFold(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  for (const id of ['w', 'x', 'y', 'z']) await stage.add(stage.a, id);
  stage.a.crash();
  stage.broker.remove(partitionId(0), 2, 3);
  stage.b.start(0);
  await stage.until('decided', () => ['failed', 'active'].includes(stage.status(stage.b).state));
  same(stage.status(stage.b).state, 'failed', 'state');
  check(stage.status(stage.b).reason.includes('offsets 2 to 3 are missing'), 'scenario', () => stage.status(stage.b).reason);
  check(stage.status(stage.b).reason.includes('cleanup.policy'), 'scenario', () => stage.status(stage.b).reason);
  same(stage.records.filter((record) => record.key === '@claim').length, 1, 'it did not even claim');
}

async function holeInStretch(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  // Void records come in, and are gone when the owner looks at what stands before its batch.
  stage.inject({ epoch: 0 }, { epoch: 0 }, { epoch: 0 });
  stage.broker.remove(partitionId(0), 3, 3);
  same((await stage.add(stage.a, 'y')).kind, 'unavailable', 'nothing is acknowledged');
  same(stage.status(stage.a).state, 'failed', 'state');
  check(stage.status(stage.a).reason.includes('offset 3 is missing'), 'scenario', () => stage.status(stage.a).reason);
}

async function strangers(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  const garbage = { key: '@claim', sequence: 0, value: new Uint8Array([255, 255]) };
  stage.inject({ epoch: 0, sequence: 0 }, { ...garbage, epoch: 0 }, { ...garbage, epoch: 2 }, claimOf(2 ** 53 - 1, 'nobody'));
  same((await stage.add(stage.a, 'y')).kind, 'added', 'the owner goes on');
  same(stage.status(stage.a).foreignRecords, 4, 'foreign records');
  same((await stage.add(stage.a, 'z')).kind, 'added', 'the owner goes on');
  same(stage.status(stage.a).foreignRecords, 4, 'each is counted once');
  stage.a.crash();
  await stage.active(stage.b);
  same(stage.b.core(0).entries, ['x', 'y', 'z'], 'the next owner folds the same');
  same(stage.status(stage.b).epoch, 2, 'epoch');
  same(stage.status(stage.b).foreignRecords, 4, 'foreign records');
  stage.checkAll();
}

async function tailLostUnderOwner(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  await stage.add(stage.a, 'y');
  stage.broker.loseTail(partitionId(0), 2);
  same((await stage.add(stage.a, 'z')).kind, 'unavailable', 'nothing is acknowledged');
  same(stage.status(stage.a).state, 'failed', 'state');
  check(stage.status(stage.a).reason.includes('vanished'), 'scenario', () => stage.status(stage.a).reason);
  same((await stage.ask(stage.a, { kind: 'read' })).kind, 'notHere', 'nothing is served');
}

async function tailLostBeforeTakeover(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  await stage.add(stage.a, 'y');
  const { epoch, sequence, offset } = stage.status(stage.a);
  projectionOf(stage).position = { epoch, sequence, offset };
  stage.a.crash();
  stage.broker.loseTail(partitionId(0), 1);
  stage.b.start(0);
  await stage.until('decided', () => ['failed', 'active'].includes(stage.status(stage.b).state));
  same(stage.status(stage.b).state, 'failed', 'state');
  same(stage.records.filter((record) => record.key === '@claim').length, 1, 'it did not even claim');
  // The other way to lose a tail: something else was written there since.
  stage.inject({ epoch: 1, sequence: 9 }, { epoch: 1, sequence: 9 });
  const again = new Stage();
  projectionOf(again).position = { epoch, sequence, offset };
  again.broker.append(partitionId(0), stage.records, 'copy');
  again.b.start(0);
  await again.until('decided', () => ['failed', 'active'].includes(again.status(again.b).state));
  same(again.status(again.b).state, 'failed', 'state with a tail that was written over');
}

async function tailLostUnderFold(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  for (const id of ['w', 'x', 'y', 'z']) await stage.add(stage.a, id);
  stage.a.crash();
  stage.b.start(0);
  await stage.until('it folds', () => stage.status(stage.b).state === 'replaying');
  stage.broker.loseTail(partitionId(0), 1);
  await stage.until('decided', () => ['failed', 'active'].includes(stage.status(stage.b).state));
  same(stage.status(stage.b).state, 'failed', 'state');
  check(stage.status(stage.b).reason.includes('the log ends at 4'), 'scenario', () => stage.status(stage.b).reason);
}

async function claimLost(): Promise<void> {
  // The claim of a takeover, and the one with which doubt is settled.
  const taking = new Stage();
  taking.atNextAppend((append) => {
    const offset = append();
    taking.broker.loseTail(partitionId(0), 1);
    return offset;
  });
  taking.a.start(0);
  await taking.until('failed', () => taking.status(taking.a).state === 'failed');
  const settling = new Stage();
  await settling.active(settling.a);
  await settling.add(settling.a, 'x');
  settling.next('dropped');
  settling.atNextAppend((append) => {
    const offset = append();
    settling.broker.loseTail(partitionId(0), 1);
    return offset;
  });
  const y = settling.send(settling.a, { kind: 'add', id: 'y' });
  await settling.until('failed', () => settling.status(settling.a).state === 'failed');
  same(y.answer?.kind, 'unavailable', 'nothing is acknowledged');
}

function projectionOf(stage: Stage): Projection {
  const [projection] = stage.cluster.projections;
  if (projection === undefined) throw new Error('a partition has its projection');
  return projection;
}

async function tailReplaced(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  await stage.add(stage.a, 'y');
  stage.next('dropped');
  const z = stage.send(stage.a, { kind: 'add', id: 'z' });
  await stage.pass(20);
  stage.broker.loseTail(partitionId(0), 1);
  stage.inject({ epoch: 0, sequence: 5 });
  await stage.until('z answered', () => z.answer !== undefined);
  same(z.answer?.kind, 'unavailable', 'nothing is acknowledged');
  same(stage.status(stage.a).state, 'failed', 'offsets fit, the record does not');
}

async function leaderChanged(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.a.reconnect();
  same((await stage.add(stage.a, 'y')).kind, 'added', 'a tail that is unchanged');
  stage.broker.loseTail(partitionId(0), 1);
  stage.inject({ epoch: 0, sequence: 5 });
  stage.a.reconnect();
  same((await stage.add(stage.a, 'z')).kind, 'unavailable', 'a tail that was replaced');
  same(stage.status(stage.a).state, 'failed', 'offsets fit, the record does not');
  // The leader changes while an append is under way, and its base offset is just what was expected.
  const during = new Stage();
  await during.active(during.a);
  await during.add(during.a, 'x');
  during.atNextAppend((append) => {
    during.broker.loseTail(partitionId(0), 1);
    during.inject({ epoch: 0, sequence: 5 });
    during.a.reconnect();
    return append();
  });
  same((await during.add(during.a, 'y')).kind, 'unavailable', 'nothing is acknowledged');
  same(during.status(during.a).state, 'failed', 'offsets fit, the record does not');
  const short = new Stage();
  await short.active(short.a);
  await short.add(short.a, 'x');
  short.broker.loseTail(partitionId(0), 1);
  short.a.reconnect();
  await short.until('failed', () => short.status(short.a).state === 'failed');
}

async function tailReplacedUnderClaim(): Promise<void> {
  const claimsOver = async (stage: Stage, cut: number): Promise<void> => {
    stage.b.start(0);
    stage.atNextAppend((append) => {
      stage.broker.loseTail(partitionId(0), cut);
      stage.inject(claimOf(2, 'someone else'), { epoch: 2, sequence: 1, workflowId: 'ghost' });
      return append();
    });
    await stage.until('decided', () => ['failed', 'unassigned', 'active'].includes(stage.status(stage.b).state));
  };
  const folded = new Stage();
  await folded.active(folded.a);
  await folded.add(folded.a, 'x');
  await folded.add(folded.a, 'y');
  folded.a.crash();
  await claimsOver(folded, 2);
  same(folded.status(folded.b).state, 'failed', 'what was folded is gone');
  // Nothing that counts is gone, but a rival stands where nobody had counted.
  const voids = new Stage();
  await voids.active(voids.a);
  await voids.add(voids.a, 'x');
  voids.a.crash();
  voids.inject({ epoch: 0 }, { epoch: 0 });
  await claimsOver(voids, 2);
  same(voids.status(voids.b).rival?.owner, 'someone else', 'the rival was first');
  const nothing = new Stage();
  nothing.inject({ epoch: 0 }, { epoch: 0 });
  nothing.inject({ epoch: 0 });
  nothing.b.start(0);
  nothing.atNextAppend((append) => {
    nothing.broker.loseTail(partitionId(0), 3);
    nothing.inject(claimOf(1, 'someone else'), { epoch: 1, sequence: 1, workflowId: 'x' }, { epoch: 1, sequence: 2, workflowId: 'y' });
    return append();
  });
  await nothing.until('decided', () => ['failed', 'unassigned', 'active'].includes(nothing.status(nothing.b).state));
  same(nothing.status(nothing.b).rival?.owner, 'someone else', 'the rival was first in a journal in which nothing had counted');
}

async function leaderChangedInProof(): Promise<void> {
  const replaced = new Stage();
  await replaced.active(replaced.a);
  await replaced.add(replaced.a, 'x');
  replaced.atNextEnd(replaced.a, () => {
    replaced.broker.loseTail(partitionId(0), 1);
    replaced.inject({ epoch: 0, sequence: 5 });
    replaced.a.reconnect();
  });
  same((await replaced.ask(replaced.a, { kind: 'read' })).kind, 'unavailable', 'the end is where it was, what was confirmed is not');
  same(replaced.status(replaced.a).state, 'failed', 'offsets fit, the record does not');
  const unchanged = new Stage();
  await unchanged.active(unchanged.a);
  await unchanged.add(unchanged.a, 'x');
  unchanged.atNextEnd(unchanged.a, () => unchanged.a.reconnect());
  same(await unchanged.ask(unchanged.a, { kind: 'read' }), { kind: 'entries', entries: ['x'] }, 'a tail that is unchanged');
  unchanged.checkAll();
}

async function pausedReader(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.a.node.pause();
  await stage.active(stage.b);
  const before = await stage.add(stage.b, 'y');
  same(before.kind, 'added', 'the successor serves');
  const read = stage.send(stage.a, { kind: 'read' });
  const refusal = stage.send(stage.a, { kind: 'refuse' });
  stage.a.node.resume();
  await stage.until('answered', () => read.answer !== undefined && refusal.answer !== undefined);
  same([read.answer?.kind, refusal.answer?.kind], ['unavailable', 'unavailable'], 'answers of the fenced owner');
  same(stage.status(stage.a).rival?.owner, stage.b.node.name, 'it names its successor');
  stage.checkAll();
}

async function provenRead(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  const { length } = stage.records;
  same(await stage.ask(stage.a, { kind: 'read' }), { kind: 'entries', entries: ['x'] }, 'read');
  same(stage.records.length, length, 'nothing was appended');
  stage.inject({ epoch: 0, sequence: 3 });
  same(await stage.ask(stage.a, { kind: 'read' }), { kind: 'entries', entries: ['x'] }, 'read over a void record');
  stage.checkAll();
}

async function oneFold(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.next('twice');
  await stage.add(stage.a, 'y');
  stage.inject({ epoch: 1, sequence: 9, workflowId: 'hole' });
  stage.inject({ epoch: 7, sequence: 1, workflowId: 'no claim' });
  await stage.active(stage.b);
  stage.inject({ epoch: 1, sequence: 3, workflowId: 'fenced' });
  stage.inject({ key: '@claim', epoch: 2, sequence: 0, workflowId: '' });
  await stage.add(stage.b, 'z');
  const cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
  const projected = stage.records.filter((record) => effective(cursor, record, jsonClaims) === 'record').map((record) => record.workflowId);
  same(projected, ['x', 'y', 'z'], 'a projection');
  same(stage.entries(), projected, 'the rule');
  same(stage.b.core(0).entries, projected, 'the owner');
  stage.checkAll();
}

async function refusedBatch(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'v');
  const core = stage.a.core(0);
  stage.next('refused', 'refused', 'refused');
  const wait = stage.send(stage.a, { kind: 'await' });
  await stage.pass(5);
  const x = stage.send(stage.a, { kind: 'add', id: 'x' });
  await stage.pass(10);
  const y = stage.send(stage.a, { kind: 'add', id: 'y' });
  await stage.until('both answered', () => x.answer !== undefined && y.answer !== undefined);
  same(
    [x.answer, y.answer].map((answer) => answer?.kind),
    ['added', 'added'],
    'answers',
  );
  same(wait.answer?.kind, 'entries', 'waits were kept');
  same(stage.entries(), ['v', 'x', 'y'], 'each is in the log once, in order');
  same(
    stage.records.map(({ epoch, sequence }) => `${epoch}.${sequence}`),
    ['1.0', '1.1', '1.2', '1.3'],
    'stamps',
  );
  check(stage.a.core(0) === core && stage.status(stage.a).refolds === 0, 'scenario', () => 'memory was dropped');
  stage.checkAll();
}

async function halvedBatch(): Promise<void> {
  // Four records gather behind one, and go in parts of one, one and two; the first of them at once, or in doubt, with a claim behind it.
  for (const [fate, sizes] of [
    ['ok', [1, 1, 1, 2]],
    ['dropped', [1, 1, 1, 1, 2]],
    ['late', [1, 1, 1, 1, 2]],
  ] as const) {
    const stage = new Stage();
    await stage.active(stage.a);
    const appended: number[] = [];
    const append = stage.broker.append.bind(stage.broker);
    stage.broker.append = (id, batch, who) => {
      appended.push(batch.length);
      return append(id, batch, who);
    };
    const core = stage.a.core(0);
    stage.next('refused', 'ok', 'tooLarge', 'tooLarge', fate);
    const first = stage.send(stage.a, { kind: 'add', id: 'v' });
    await stage.until('refused', () => stage.broker.injected.has('refused'));
    const rest = ['w', 'x', 'y', 'z'].map((id) => stage.send(stage.a, { kind: 'add', id }));
    await stage.until('all answered', () => [first, ...rest].every(({ answer }) => answer !== undefined));
    await stage.pass(200);
    // They are on their way at the same time: in which order they were decided is what memory says.
    const ids = [...core.entries];
    same(ids.toSorted(), ['v', 'w', 'x', 'y', 'z'], 'decided');
    same(
      [first, ...rest].map(({ answer }) => answer?.kind),
      ids.map(() => 'added'),
      'answers',
    );
    same(stage.entries(), ids, 'each counts once, in order');
    same(appended, sizes, 'batches that were appended');
    check(stage.a.core(0) === core && stage.status(stage.a).refolds === 0, 'scenario', () => 'memory was dropped');
    same((await stage.add(stage.a, 'after')).kind, 'added', 'it goes on');
    stage.checkAll();
    stage.a.crash();
    await stage.active(stage.b);
    same(stage.b.core(0).entries, [...ids, 'after'], 'the next owner folds the same');
  }
}

async function refusedClaim(): Promise<void> {
  const stage = new Stage();
  stage.next('refused', 'refused');
  await stage.active(stage.a);
  same(
    stage.records.map(({ epoch }) => epoch),
    [1],
    'claims',
  );
  // One that others overtook while it was refused is void.
  const late = new Stage();
  late.next('refused');
  late.a.start(0);
  await late.until('refused', () => late.broker.injected.has('refused'));
  late.inject(claimOf(1, 'someone else'));
  await late.until('decided', () => late.status(late.a).state !== 'claiming');
  same(late.status(late.a).rival?.owner, 'someone else', 'rival');
  stage.checkAll();
}

async function absentBatch(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'v');
  const core = stage.a.core(0);
  // The batch, the first claim and the batch under the new epoch: each is lost once.
  stage.next('dropped', 'dropped', 'ok', 'dropped');
  const wait = stage.send(stage.a, { kind: 'await' });
  await stage.pass(5);
  const x = stage.send(stage.a, { kind: 'add', id: 'x' });
  await stage.pass(10);
  const y = stage.send(stage.a, { kind: 'add', id: 'y' });
  await stage.until('both answered', () => x.answer !== undefined && y.answer !== undefined);
  same(
    [x.answer, y.answer],
    [
      { kind: 'added', place: 1 },
      { kind: 'added', place: 2 },
    ],
    'answers',
  );
  same(wait.answer?.kind, 'entries', 'waits were kept');
  same(stage.entries(), ['v', 'x', 'y'], 'each counts once, in order');
  check(stage.a.core(0) === core && stage.status(stage.a).refolds === 0, 'scenario', () => 'memory was dropped');
  // All the copies that were on their way land now.
  stage.inject({ epoch: 1, sequence: 2, workflowId: 'x' }, { epoch: 3, sequence: 1, workflowId: 'x' });
  same((await stage.add(stage.a, 'z')).kind, 'added', 'they are void');
  same(stage.entries(), ['v', 'x', 'y', 'z'], 'each counts once, in order');
  stage.checkAll();
  stage.a.crash();
  await stage.active(stage.b);
  same(stage.b.core(0).entries, stage.entries(), 'the next owner folds the same');
}

async function refusedOverLeaderChange(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  stage.next('refused');
  const y = stage.send(stage.a, { kind: 'add', id: 'y' });
  await stage.until('refused', () => stage.broker.injected.has('refused'));
  stage.broker.loseTail(partitionId(0), 1);
  stage.inject({ epoch: 0, sequence: 5 });
  stage.a.reconnect();
  await stage.until('y answered', () => y.answer !== undefined);
  same(y.answer?.kind, 'unavailable', 'nothing is acknowledged');
  same(stage.status(stage.a).state, 'failed', 'offsets fit, the record does not');
}

async function neverResent(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  stage.next('dropped');
  same((await stage.add(stage.a, 'y')).kind, 'added', 'y goes again');
  same(
    stage.records.map(({ epoch, sequence }) => `${epoch}.${sequence}`),
    ['1.0', '2.0', '2.1'],
    'behind a claim',
  );
  stage.checkAll();
}

async function idleFenced(): Promise<void> {
  const stage = new Stage();
  await stage.active(stage.a);
  const poll = stage.send(stage.a, { kind: 'await' }, 3_600_000);
  await stage.pass(2_000);
  check(poll.answer === undefined, 'scenario', () => 'the poll waits while nothing happens');
  stage.inject(claimOf(9, 'someone else'));
  await stage.pass(simLimits.watchIntervalMs * 2 + 100);
  same(poll.answer?.kind, 'unavailable', 'the poll fails');
  same(stage.status(stage.a).state, 'unassigned', 'state');
  same(stage.status(stage.a).rival?.owner, 'someone else', 'rival');
}

async function guardedProjection(): Promise<void> {
  const stage = new Stage();
  let stored: LogCursor | undefined;
  const project = (server: Server): boolean => {
    const { epoch, sequence, offset } = stage.status(server);
    const allowed = mayReplace(stored, { epoch, sequence, offset });
    if (allowed) stored = { epoch, sequence, offset };
    return allowed;
  };
  await stage.active(stage.a);
  await stage.add(stage.a, 'x');
  await stage.add(stage.a, 'y');
  same([project(stage.a), project(stage.a)], [true, true], 'an owner writes, and may repeat it');
  stage.a.node.pause();
  await stage.active(stage.b);
  same(project(stage.b), true, 'its successor writes, with a lower sequence');
  stage.a.node.resume();
  same(stage.status(stage.a).state, 'active', 'the fenced owner still believes');
  same(project(stage.a), false, 'and is refused');
  same(stored?.epoch, 2, 'stored epoch');
}

function scenario(run: () => void): () => Promise<void> {
  return async () => run();
}
