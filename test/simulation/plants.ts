/**
 * Bugs that someone could write into the commit protocol, as exact source patches. Each must be caught by the random
 * runs within `seedsMax`, or by the scenarios; a patch whose text is no longer found fails its test.
 */
export type Plant = {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  /** Where it must show: in the random runs, or only where the log breaks its promises. */
  readonly caughtBy: keyof typeof seedsMax | 'scenarios';
};

/** Of each kind of random run. */
export const seedsMax = {
  seeds: 4_000,
  'seeds with a database': 4_000,
  'seeds of history shards': 400,
  'seeds of matching hosts': 400,
} as const;

const LOOP = 'src/actors/partition/partition-loop.ts';
const TAKEOVER = 'src/actors/ownership/takeover.ts';
const APPENDS = 'src/actors/ownership/appends.ts';
const SETTLEMENT = 'src/actors/ownership/doubt-settlement.ts';
const WINDOW = 'src/actors/partition/commit-window.ts';
const POSITION = 'src/actors/ownership/owner-position.ts';
const EFFECTIVE = 'src/actors/ownership/effective.ts';
const STRETCH = 'src/actors/ownership/log-stretch.ts';
const RESTORATION = 'src/actors/ownership/restoration.ts';
const PROOFS = 'src/actors/ownership/read-proofs.ts';
const BARRIER = 'src/actors/ownership/read-barrier.ts';
const CHECKPOINTER = 'src/actors/checkpoint/checkpointer.ts';
const TIMER_WINDOW = 'src/history/timer/timer-window.ts';
const STORE = 'src/actors/history/events/history-store.ts';
const BACKLOG_CHANGES = 'src/matching/checkpoint/changes.ts';
const OFFERS = 'src/matching/offers.ts';
const BACKLOG = 'src/matching/backlog.ts';

export const plants: readonly Plant[] = [
  {
    name: 'answers before the commit',
    file: WINDOW,
    search: 'if (head.rests > this.#committed) return;',
    replace: '',
    caughtBy: 'seeds',
  },
  {
    name: 'acts before the commit',
    file: LOOP,
    search: 'this.#window.commit(askId, handled.record, encoded, handled.reply, handled.effects, bytes);',
    replace:
      'this.#window.commit(askId, handled.record, encoded, handled.reply, [], bytes);' +
      ' for (const effect of handled.effects) this.#shell.act(effect);',
    caughtBy: 'seeds',
  },
  {
    name: 'does not compare the base offset',
    file: APPENDS,
    search: 'if (baseOffset > expected || service.suspect) return',
    replace: 'if (service.suspect) return',
    caughtBy: 'seeds',
  },
  {
    name: 'serves without a claim',
    file: TAKEOVER,
    search: 'if (term === retries.term && claiming !== undefined) this.claim(claiming);',
    replace: 'if (term === retries.term && claiming !== undefined) this.#activate({ proof: 0 }, []);',
    caughtBy: 'seeds',
  },
  {
    name: 'accepts a claim of the same epoch',
    file: EFFECTIVE,
    search: "if (record.epoch <= cursor.epoch) return 'void';",
    replace: "if (record.epoch < cursor.epoch) return 'void';",
    caughtBy: 'seeds',
  },
  {
    name: 'knows its own claim by the epoch alone',
    file: TAKEOVER,
    search: 'if (owner.ownerNonce !== landed.own.claim.ownerNonce) return',
    replace: 'if (owner.epoch !== landed.own.epoch) return',
    caughtBy: 'seeds',
  },
  {
    name: 'claims without a nonce',
    file: TAKEOVER,
    search: 'const ownerNonce = this.#options.random.nonce();',
    replace: "const ownerNonce = 'claim';",
    caughtBy: 'seeds',
  },
  {
    name: 'reads the gap without looking at claims',
    file: STRETCH,
    search: 'const verdict = effective(this.cursor, record, claims);',
    replace:
      "if (record.key === '@claim' && this.#query.ownNonces.size === 0) { this.cursor.offset = record.offset + 1; return; }" +
      ' const verdict = effective(this.cursor, record, claims);',
    caughtBy: 'seeds',
  },
  {
    name: 'takes over one record short of its claim',
    file: TAKEOVER,
    search: 'if (claiming.doubt === undefined) await this.#fold(landed);',
    replace:
      'if (claiming.doubt === undefined) { await this.#fold({ ...landed, offset: landed.offset - 2 }); const { offset, own } = landed;' +
      " const short = { key: '@claim', epoch: own.epoch, sequence: 0, offset, timeMs: 0, value: this.#options.claims.encode(own.claim) };" +
      ' position.step(short, this.#options.claims); }',
    caughtBy: 'seeds',
  },
  {
    name: 'goes on with the fold behind its claim without looking at what was folded',
    file: 'src/actors/ownership/journal-fold.ts',
    search: 'position.stepBack();',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'does not compare the record that was folded last',
    file: 'src/actors/ownership/journal-fold.ts',
    search: 'if (!position.passLast(record, claims)) return',
    replace: 'if (!position.passLast({ ...record, ...position.last }, claims)) return',
    caughtBy: 'scenarios',
  },
  {
    name: 'gives a batch up without a new epoch',
    file: TAKEOVER,
    search: 'const ownerNonce = this.#options.random.nonce();',
    replace:
      'if (claiming.doubt !== undefined) { const offset = this.#ownership.position.cursor.offset - 1;' +
      ' void this.#refold({ offset }).then(() => this.#activate({ proof: 0 }, [])); return; }' +
      ' const ownerNonce = this.#options.random.nonce();',
    caughtBy: 'seeds',
  },
  {
    name: 'keeps memory without what was lost in doubt',
    file: SETTLEMENT,
    search: 'const goesAgain = found === undefined && doubt.sent.length > 0;',
    replace: 'const goesAgain = false;',
    caughtBy: 'seeds',
  },
  {
    name: 'appends again what was found when doubt was settled',
    file: SETTLEMENT,
    search: 'const goesAgain = found === undefined && doubt.sent.length > 0;',
    replace: 'const goesAgain = doubt.sent.length > 0;',
    caughtBy: 'seeds',
  },
  {
    name: 'appends again with the stamps of the old epoch',
    file: APPENDS,
    search: 'again.map((record, index) => ({ ...record, epoch, sequence: sequence + 1 + index }))',
    replace: 'again',
    caughtBy: 'seeds',
  },
  {
    name: 'sends a refused batch again twice',
    file: APPENDS,
    search: 'const again = service.again.shift();',
    replace: "const again = this.#ownership.trouble.reason === '' ? service.again.shift() : service.again[0];",
    caughtBy: 'seeds',
  },
  {
    name: 'sends the second half of a batch that was too large first',
    file: APPENDS,
    search: 'return [records.slice(0, middle), records.slice(middle)];',
    replace: 'return [records.slice(middle), records.slice(0, middle)];',
    caughtBy: 'seeds',
  },
  {
    name: 'sends what gathered before what was refused',
    file: APPENDS,
    search: 'if (again !== undefined) return',
    replace:
      'if (again !== undefined && memory.openRecords() > 0) { service.again.unshift(again); return memory.seal(epoch, sequence + 1); }' +
      ' if (again !== undefined) return',
    caughtBy: 'seeds',
  },
  {
    name: 'keeps its memory over a rival that came and went',
    file: SETTLEMENT,
    search: "if (stretch.foreign || stretch.rival !== undefined || doubt.dropsMemory) return { kind: 'foldAgain' };",
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'uses a sequence again',
    file: POSITION,
    search: 'this.#cursor.sequence += count;',
    replace: 'this.#cursor.sequence += 1;',
    caughtBy: 'seeds',
  },
  {
    name: 'believes the outcome of an earlier append',
    file: APPENDS,
    search: "if (underWay?.kind !== 'append' || outcome.generation !== underWay.proof) return;",
    replace: "if (underWay?.kind !== 'append') return;",
    caughtBy: 'seeds',
  },
  {
    name: 'takes what became of an earlier claim for the fate of the latest',
    file: TAKEOVER,
    search: "if (claim.kind !== 'sent' || outcome.generation !== claim.proof) return;",
    replace: "if (claim.kind !== 'sent') return;",
    caughtBy: 'seeds',
  },
  {
    name: 'applies a duplicate',
    file: EFFECTIVE,
    search: 'record.sequence !== cursor.sequence + 1',
    replace: 'record.sequence > cursor.sequence + 1',
    caughtBy: 'seeds',
  },
  {
    name: 'applies what a fenced owner wrote',
    file: EFFECTIVE,
    search: "if (record.epoch < cursor.epoch) return 'void';",
    replace: '',
    caughtBy: 'seeds',
  },
  {
    name: 'applies what stands behind a gap',
    file: EFFECTIVE,
    search: "record.sequence > cursor.sequence + 1) return 'gap';",
    replace: "record.sequence > cursor.sequence + 1) { cursor.sequence = record.sequence; return 'record'; }",
    caughtBy: 'scenarios',
  },
  {
    name: 'calls a hole in a fold void',
    file: EFFECTIVE,
    search: "if (record.offset > cursor.offset) return 'hole';",
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'says nothing of a gap',
    file: EFFECTIVE,
    search: "record.sequence > cursor.sequence + 1) return 'gap';",
    replace: "record.sequence > cursor.sequence + 1) return 'void';",
    caughtBy: 'scenarios',
  },
  {
    name: 'takes a claim that it cannot read',
    file: EFFECTIVE,
    search: "if (!readable(record, claims)) return 'foreign';",
    replace: '',
    caughtBy: 'seeds',
  },
  {
    name: 'takes a claim of any epoch',
    file: EFFECTIVE,
    search: 'record.epoch === 0 || record.epoch > cursor.epoch + EPOCH_JUMP_MAX',
    replace: 'record.epoch === 0',
    caughtBy: 'scenarios',
  },
  {
    name: 'drops the last record of a batch',
    file: WINDOW,
    search: 'this.#openBytes -= bytes;\n    return batch;',
    replace: 'this.#openBytes -= bytes;\n    if (batch.length > 2) batch.pop();\n    return batch;',
    caughtBy: 'seeds',
  },
  {
    name: 'answers reads without proof',
    file: BARRIER,
    search: 'return this.#exclusive || this.#proven > mark;',
    replace: 'return true;',
    caughtBy: 'seeds',
  },
  {
    name: 'takes a proof that is older than the read',
    file: BARRIER,
    search: 'return this.#exclusive || this.#proven > mark;',
    replace: 'return this.#exclusive || this.#proven >= mark;',
    caughtBy: 'seeds',
  },
  {
    name: 'takes any end of the log for proof',
    file: APPENDS,
    search: 'if (isTrusted && found.end <= position.cursor.offset) return',
    replace: 'if (found.end >= 0) return',
    caughtBy: 'seeds',
  },
  {
    name: 'takes an end of the log for proof while it looks back',
    file: APPENDS,
    search: "const isTrusted = !suspect && underWay?.kind !== 'lookBack';",
    replace: 'const isTrusted = !suspect;',
    caughtBy: 'scenarios',
  },
  {
    name: 'does not watch the log while idle',
    file: PROOFS,
    search: 'if (isIdle && noneBegun && ',
    replace: 'if (isIdle && !noneBegun && ',
    caughtBy: 'seeds',
  },
  {
    name: 'goes on after a rival claim',
    file: APPENDS,
    search: 'if (stretch.rival !== undefined) {\n',
    replace: 'if (stretch.rival !== undefined && lookBack.batch !== undefined) {\n',
    caughtBy: 'seeds',
  },
  {
    name: 'forgets the time of replayed records',
    file: POSITION,
    search: 'this.wrote(record.timeMs);',
    replace: '',
    caughtBy: 'seeds',
  },
  {
    name: 'tells a wrong offset',
    file: WINDOW,
    search: 'this.#at.offset = this.#batchBase.offset + nth;',
    replace: 'this.#at.offset = this.#batchBase.offset;',
    caughtBy: 'seeds',
  },
  {
    name: 'leaves asks open when memory is dropped',
    file: LOOP,
    search: 'this.#options.asks.abandon(message);',
    replace: '',
    caughtBy: 'seeds',
  },
  {
    name: 'accepts a base offset below what was confirmed',
    file: APPENDS,
    search: 'if (baseOffset < expected) return',
    replace: 'if (baseOffset < 0) return',
    caughtBy: 'scenarios',
  },
  {
    name: 'does not look for its last confirmed record',
    file: STRETCH,
    search: 'this.#intact = record.epoch === last.epoch && record.sequence === last.sequence;',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'trusts an offset after a leader change',
    file: APPENDS,
    search: 'if (baseOffset > expected || service.suspect) return',
    replace: 'if (baseOffset > expected) return',
    caughtBy: 'scenarios',
  },
  {
    name: 'does not ask what is known elsewhere',
    file: POSITION,
    search: 'if (elsewhere !== undefined) known.push(elsewhere);',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'lets a fenced owner overwrite derived data',
    file: EFFECTIVE,
    search: 'if (stored.epoch !== mine.epoch) return stored.epoch < mine.epoch;',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'does what a refused record had staged for those who wait',
    file: LOOP,
    search: 'if (instead === undefined || this.#isTooLarge(encodedInstead)) return this.#refuse(mail, encoded);',
    replace:
      'if (instead === undefined || this.#isTooLarge(encodedInstead)) {' +
      " this.#core.accept({ ...handled, kind: 'wait', barrier: false, effects: [] } as never); return this.#refuse(mail, encoded); }",
    caughtBy: 'seeds',
  },
  {
    name: 'fails the partition over a command that throws',
    file: LOOP,
    search: "this.#logger.error('a command could not be decided', {",
    replace: "this.#owner.fail(reason, error); this.#logger.error('a command could not be decided', {",
    caughtBy: 'seeds',
  },
  {
    name: 'forgets whoever asked for a command that throws',
    file: LOOP,
    search: 'if (askId !== NOBODY) this.#options.asks.fail(askId, internalError(',
    replace: 'if (askId < NOBODY) this.#options.asks.fail(askId, internalError(',
    caughtBy: 'seeds',
  },
  {
    name: 'says of what was decided that nothing came of it',
    file: 'src/actors/asks/switchboard.ts',
    search: "this.#answer(askId, { kind: 'unavailable', message });",
    replace: "this.#answer(askId, { kind: 'notHere', message, hint: '', epoch: 0 });",
    caughtBy: 'seeds',
  },
  {
    name: 'answers those who wait while it only decides',
    file: 'src/history/history-core.ts',
    search: 'const reply = decide(draft, command);\n    return this.#handled(draft, reply);',
    replace:
      'const reply = decide(draft, command);\n    const handled = this.#handled(draft, reply);' +
      ' for (const change of handled.changes) changeVolatile(this.#volatile, change); return handled;',
    caughtBy: 'scenarios',
  },
  {
    name: 'makes a speculative task real by looking at its run',
    file: 'src/history/draft.ts',
    search: 'this.runs.push(opened);\n    return opened;\n  }\n\n  /** A new run',
    replace: 'this.runs.push(opened);\n    opened.ensureReal();\n    return opened;\n  }\n\n  /** A new run',
    caughtBy: 'scenarios',
  },
  {
    name: 'lets the later tasks of a run that is put aside into the queues',
    file: 'src/history/shard.ts',
    search: 'if (this.#waitsAside(task)) this.#waitAside(task);\n    else this.#wait(task);',
    replace: 'this.#wait(task);',
    caughtBy: 'scenarios',
  },
  {
    name: 'leaves a closed run aside',
    file: 'src/history/execution/close.ts',
    search: "if (draft.shard.aside.has(run.run.key.runId)) run.addShardFact({ kind: 'runTakenBack' });",
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'leaves a child alone whose start nobody heard of',
    file: 'src/history/child/child-outcomes.ts',
    search: "if (outcome.kind === 'childStarted') followClosePolicy(run.draft, task, outcome.runId);",
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'takes what others have not heard along with a deleted run',
    file: 'src/history/shard.ts',
    search: 'else if (this.#undelivered.has(key.runId)) this.#leaveMessages(run);',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'captures a run after it has changed',
    file: 'src/history/checkpoint/changes.ts',
    search: 'this.#cut?.touch(run);\n    this.#since.runs.set(run.key.runId, run);',
    replace: 'this.#since.runs.set(run.key.runId, run);',
    caughtBy: 'scenarios',
  },
  {
    name: 'forgets at the cut which tasks have ended',
    file: 'src/history/checkpoint/changes.ts',
    search: 'return this.#since.isGone(taskId) || this.#cut?.isGone(taskId) === true;',
    replace: 'return this.#since.isGone(taskId);',
    caughtBy: 'scenarios',
  },
  {
    name: 'takes the workflow id away with an older run',
    file: 'src/history/shard.ts',
    search: 'if (this.#currentRuns.get(execution) !== run) return;',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'restores without raising the fence',
    file: 'test/support/memory-database.ts',
    search: 'tables.fence = this.#tables.nextFence(tables.fence);',
    replace: 'tables.fence = 1;',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'makes every memory of an owner from its first restore',
    file: RESTORATION,
    search: 'checkpoints.restore().catch(',
    replace: '(this.first ??= checkpoints.restore()).catch(',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'goes on behind a checkpoint with the stamp of no record',
    file: POSITION,
    search: 'this.#cursor = { epoch, sequence, offset: nextOffset };',
    replace: 'this.#cursor = { epoch: 0, sequence: 0, offset: nextOffset };',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'goes on behind a checkpoint with the epoch alone',
    file: POSITION,
    search: 'this.#cursor = { epoch, sequence, offset: nextOffset };',
    replace: 'this.#cursor = { epoch, sequence: 0, offset: nextOffset };',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'forgets the time of a checkpoint',
    file: POSITION,
    search: 'this.wrote(timeMs);',
    replace: '',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'takes a journal that was trimmed beyond the witness',
    file: 'src/actors/ownership/journal-start.ts',
    search: 'if (start <= Math.max(0, checkpoint?.lastOffset ?? 0)) return undefined;',
    replace: 'if (start <= Math.max(0, checkpoint?.nextOffset ?? 0)) return undefined;',
    caughtBy: 'scenarios',
  },
  {
    name: 'takes a checkpoint that the journal does not reach',
    file: 'src/actors/ownership/journal-start.ts',
    search: 'if (checkpoint === undefined || checkpoint.nextOffset <= end) return undefined;',
    replace: 'return undefined;',
    caughtBy: 'scenarios',
  },
  {
    name: 'an owner that is fenced keeps its memory',
    file: 'src/actors/ownership/doubt-settlement.ts',
    search: ' || doubt.dropsMemory',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'takes what is left of a trimmed stretch for the whole',
    file: STRETCH,
    search: 'this.#isTrimmed = true;',
    replace: '',
    caughtBy: 'seeds with a database',
  },
  {
    name: 'counts tasks from the start again after a restart',
    file: 'src/history/checkpoint/install.ts',
    search: 'shard.taskIdLast = taskIdLast;',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'leaves no trace of a task that ended before its row was written',
    file: 'src/history/checkpoint/change-set.ts',
    search: 'if (taskId <= this.#taskIdWritten)',
    replace: 'if (taskId < this.#taskIdWritten - 1000)',
    caughtBy: 'scenarios',
  },
  {
    name: 'writes a checkpoint before its last record is committed',
    file: CHECKPOINTER,
    search: 'if (this.#committed === cut.records) this.#cutCommitted(cut);\n  }',
    replace: 'this.#cutCommitted(cut);\n  }',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'gives a run the event behind the one that its row leaves to history',
    file: 'src/actors/history/durable/events-left-out.ts',
    search: 'held[wanted[at]! - row.firstEventId]',
    replace: 'held[wanted[at]! - row.firstEventId + 1]',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'trims the journal before the checkpoint is durable',
    file: CHECKPOINTER,
    search: 'cut.isBeingWritten = true;\n',
    replace: 'cut.isBeingWritten = true; this.#options.onDurable?.(this.#checkpointAt(position, cut.bytes).position);\n',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'trims the journal beyond the witness',
    file: 'src/actors/checkpoint/journal-trim.ts',
    search: 'log.truncate(partition, offset).then(',
    replace: 'log.truncate(partition, offset + 1).then(',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'takes a checkpoint whose answer was lost for written',
    file: CHECKPOINTER,
    search: 'return await this.#whatBecameOf(checkpoint);',
    replace: "return 'written';",
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'writes changes upon whatever checkpoint stands there',
    file: CHECKPOINTER,
    search: ', base: this.#before?.nextOffset ?? 0 };',
    replace: ' };',
    caughtBy: 'scenarios',
  },
  {
    name: 'cuts events when it cuts state, committed or not',
    file: 'src/actors/history/durable/history-checkpoints.ts',
    search: 'this.#core.cut();\n  }\n\n  cutCommitted(): void {\n    this.#store.cut();',
    replace: 'this.#core.cut();\n    this.#store.cut();\n  }\n\n  cutCommitted(): void {',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'reads events from rows that are not written yet',
    file: STORE,
    search: 'this.#cuts += 1;',
    replace: 'this.#cuts += 1;\n    this.#cutsStored = this.#cuts;',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'leaves out an event where rows end and the journal goes on',
    file: STORE,
    search: 'else if (kept > 0) batches.splice(0, kept);',
    replace: 'else if (kept > 0 && kept + 1 < batches.length) batches.splice(0, kept + 1);',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'forgets the time of a shard',
    file: 'src/history/checkpoint/install.ts',
    search: 'shard.timeMs = timeMs;',
    replace: '',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'builds a row of List when it is committed, from a memory that is further',
    file: 'src/actors/history/visibility/visibility-rows.ts',
    search: 'const { summary } = this.#noted.shift();\n',
    replace:
      'const noted = this.#noted.shift().summary;\n' + '      const summary = this.#options.core.summaryOf(noted.key.runId) ?? noted;\n',
    caughtBy: 'scenarios',
  },
  {
    name: 'installs a load though runs were deleted since it began',
    file: 'src/history/history-core.ts',
    search: 'if (this.#changes.retirements !== begunAt) return false;',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'lets workflow ids slip that begin while the filter of keys is built',
    file: 'src/history/residency/known-keys.ts',
    search: 'this.#next?.add(hash);',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'folds onto rows that another owner has written further',
    file: 'src/actors/history/durable/shard-table.ts',
    search: "if (found.fence !== this.#checkpointer.fence || (await this.#checkpointer.isSuperseded())) return 'fenced';",
    replace: '',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'folds a record onto a run that is not in memory',
    file: 'src/actors/history/durable/read-ahead.ts',
    search: 'return lacking.size === 0 ? undefined : this.#load([...lacking.values()]);',
    replace: 'return undefined;',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'forgets at a restart what waits for a damaged run',
    file: 'src/actors/history/durable/durable-shard.ts',
    search: 'await installWaiting(core, checkpoints.database, journal);',
    replace: '',
    caughtBy: 'seeds of history shards',
  },
  {
    name: 'lets a far timer leave memory that is not written',
    file: TIMER_WINDOW,
    search: 'return !this.#changes.isTaskUnwritten(task.taskId);',
    replace: 'return true;',
    caughtBy: 'scenarios',
  },
  {
    name: 'lets a timer leave memory that a page under way has passed over',
    file: TIMER_WINDOW,
    search: 'Math.max(nowMs, this.#page?.untilMs ?? -Infinity)',
    replace: 'nowMs',
    caughtBy: 'scenarios',
  },
  {
    name: 'brings a timer back whose row is still to be deleted',
    file: TIMER_WINDOW,
    search: 'this.#changes.isGone(taskId) || ',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'leaves the row of a timer that was cancelled in the table alone',
    file: 'src/history/shard.ts',
    search: 'this.#changes?.unseenTaskGone(taskId);',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'reads windows of timers beside the writes',
    file: 'src/actors/history/durable/timer-pages.ts',
    search: 'await lane.inTurn(() => this.#page());',
    replace: 'await this.#page();',
    caughtBy: 'scenarios',
  },
  {
    name: 'takes a run that is not written out of memory',
    file: 'src/history/shard.ts',
    search: 'this.#changes?.isUnwritten(runId) === false && ',
    replace: '',
    caughtBy: 'scenarios',
  },
  {
    name: 'deletes the pointer of a workflow id with any of its runs, in SQLite',
    file: 'src/database/sqlite/delta.ts',
    search: 'AND workflow_id = ? AND run_id = ?',
    replace: 'AND workflow_id = ? AND ? IS NOT NULL',
    caughtBy: 'scenarios',
  },
  {
    name: 'writes tasks that were stored after the cut with its rows',
    file: BACKLOG_CHANGES,
    search: 'this.#since = new ChangeSet();\n  }\n\n  /** Encodes a task',
    replace: '}\n\n  /** Encodes a task',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'leaves the row of a task that is delivered while it is written',
    file: BACKLOG_CHANGES,
    search: 'if (!stored.delete(id)) removed.add(id);',
    replace: 'if (!stored.delete(id) && this.#cut === undefined) removed.add(id);',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'deletes the row of a task whose delivery is not in the journal',
    file: OFFERS,
    search: 'this.#removals.add(offer.storedId, this.#parts.decision.nowMs);',
    replace: 'this.#removals.add(offer.storedId, this.#parts.decision.nowMs); this.#backlog.notes?.taskRemoved(offer.storedId);',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'takes a stored task for delivered when its start is asked for',
    file: OFFERS,
    search: 'this.#parts.deadlines.remove(offer);\n      return offer;',
    replace:
      'this.#parts.deadlines.remove(offer);\n' +
      '      if (offer.storedId > 0) this.#removals.add(offer.storedId, this.#parts.decision.nowMs);\n      return offer;',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'trims the journal of stored tasks before their checkpoint is durable',
    file: CHECKPOINTER,
    search: 'cut.isBeingWritten = true;\n',
    replace: 'cut.isBeingWritten = true; this.#options.onDurable?.(this.#checkpointAt(position, cut.bytes).position);\n',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'counts stored tasks from the last row again after a restart',
    file: 'src/matching/checkpoint/install.ts',
    search: 'backlog.lastId = lastId;',
    replace: '',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'installs rows that were read under the fence of another',
    file: 'src/actors/checkpoint/fenced-rows.ts',
    search: 'if (found !== fence) throw',
    replace: 'if (found < 0) throw',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'takes stored tasks out of memory that no row has',
    file: BACKLOG,
    search: 'if (left >= budget || task.id > writtenUpToId) break;',
    replace: 'if (left >= budget) break;',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'forgets what a fold removes of tasks that are rows alone',
    file: BACKLOG,
    search: 'this.#goneCold.add(id);',
    replace: '',
    caughtBy: 'seeds of matching hosts',
  },
  {
    name: 'takes a window of rows from the table of another owner',
    file: 'src/actors/matching/cold-tasks.ts',
    search: 'if ((await checkpointer.isSuperseded()) || fence !== checkpointer.fence) return undefined;',
    replace: '',
    caughtBy: 'seeds of matching hosts',
  },
];

/** A patch for a source that has moved on: running it must fail. */
export const stalePlant: Plant = {
  name: 'a patch whose text is gone',
  file: LOOP,
  search: 'this text stands nowhere',
  replace: '',
  caughtBy: 'seeds',
};
