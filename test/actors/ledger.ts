/**
 * The smallest core that can go wrong in every way that matters: a list of entries, each added once by its id.
 *
 * A lost entry, one applied twice, an order that differs, a read of superseded state: all are seen by comparing lists.
 */
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import assert from 'node:assert/strict';
import { NOBODY, type AskContext } from '../../src/actors/asks/asks.ts';
import { Switchboard, type AnswerTo, type ReplyRows } from '../../src/actors/asks/switchboard.ts';
import { errorText } from '../../src/kernel/error-text.ts';
import { asksAreCarried } from '../support/asks-are-carried.ts';
import type {
  CommandScale,
  EncodedRecord,
  PartitionCore,
  PartitionMemory,
  PartitionShell,
  RecordCodec,
} from '../../src/actors/partition/partition-core.ts';
import type { RecordPosition } from '../../src/ports/log.ts';
import type { Clock } from '../../src/ports/machine.ts';
import type { CommandIds, Handled, ReplyEffect } from '../../src/kernel/handled.ts';

export type LedgerCommand =
  /** Adds the entry; adding it again answers its place and changes nothing. */
  | { readonly kind: 'add'; readonly id: string; readonly size?: number }
  | { readonly kind: 'read' }
  /** Refused with the number of entries: a rejection rests on what was read. */
  | { readonly kind: 'refuse' }
  /** Answered when the next entry is added. */
  | { readonly kind: 'await' }
  | { readonly kind: 'poison' }
  | { readonly kind: 'throw' }
  /** Its record cannot be written. */
  | { readonly kind: 'unwritable' }
  /** Its record cannot be applied, not even live. */
  | { readonly kind: 'break' };

export type LedgerReply =
  | { readonly kind: 'added'; readonly place: number }
  | { readonly kind: 'entries'; readonly entries: readonly string[] }
  | { readonly kind: 'refused'; readonly count: number }
  | { readonly kind: 'canceled' };

export type LedgerReplyTo = {
  readonly add: Extract<LedgerReply, { kind: 'added' }>;
  readonly read: Extract<LedgerReply, { kind: 'entries' }>;
  readonly refuse: Extract<LedgerReply, { kind: 'refused' }>;
  readonly await: Extract<LedgerReply, { kind: 'entries' | 'canceled' }>;
  readonly poison: Extract<LedgerReply, { kind: 'added' }>;
  readonly throw: never;
  readonly unwritable: Extract<LedgerReply, { kind: 'added' }>;
  readonly break: Extract<LedgerReply, { kind: 'added' }>;
};

const ledgerReplies: ReplyRows<LedgerReplyTo> = {
  add: { replies: ['added'] },
  read: { replies: ['entries'] },
  refuse: { replies: ['refused'] },
  await: { replies: ['entries', 'canceled'] },
  poison: { replies: ['added'] },
  throw: { replies: [] },
  unwritable: { replies: ['added'] },
  break: { replies: ['added'] },
};

export type LedgerSwitchboard = Switchboard<LedgerReplyTo, LedgerCommand, never>;

export function ledgerSwitchboard(clock: Clock): LedgerSwitchboard {
  let lastAskId = NOBODY;
  const callbackFailed = (error: unknown): never => {
    throw error;
  };
  const Board = asksAreCarried ? BetweenProcesses : Switchboard<LedgerReplyTo, LedgerCommand, never>;
  return new Board(
    { clock, turns: new LoopTurns(clock), newAskId: () => ++lastAskId, callbackFailed },
    ledgerReplies,
    (partition) => `ledger ${partition}`,
  );
}

/** Whoever asks, and the ledger, hold copies: what is sent later to another process cannot rest on the same memory. */
class BetweenProcesses extends Switchboard<LedgerReplyTo, LedgerCommand, never> {
  override ask<Asked extends LedgerCommand>(
    partition: number,
    command: Asked,
    context: AskContext,
    onReply: (answer: AnswerTo<LedgerReplyTo, never, Asked['kind']>) => void,
  ): number {
    return super.ask(partition, copied(command), context, (answer) => onReply(copied(answer)));
  }
}

function copied<Message>(sent: Message): Message {
  const received: Message = JSON.parse(JSON.stringify(sent));
  assert.deepEqual(received, sent, 'an ask or its answer arrives as it was sent');
  return received;
}

export type LedgerRecord = { readonly id: string; readonly timeMs: number; readonly size: number };
export type LedgerEffect = ReplyEffect<LedgerReply> | { readonly kind: 'dispatch'; readonly id: string };

/** Who waits from now on; undefined: nobody any more. */
type HandledEntry = Handled<LedgerRecord, LedgerReply, LedgerEffect> & { readonly waiting?: readonly number[] };

export class LedgerCore implements PartitionCore<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect> {
  readonly entries: string[] = [];
  readonly #places = new Map<string, number>();
  #waiting: readonly number[] = [];
  lastTimeMs = 0;

  handle(command: LedgerCommand, nowMs: number, askId: number): HandledEntry {
    switch (command.kind) {
      case 'add': {
        const place = this.#places.get(command.id);
        if (place !== undefined) return { kind: 'answer', reply: { kind: 'added', place }, effects: [] };
        const effects: LedgerEffect[] = [{ kind: 'dispatch', id: command.id }];
        for (const waiter of this.#waiting) {
          effects.push({ kind: 'reply', askId: waiter, reply: { kind: 'entries', entries: [...this.entries, command.id] } });
        }
        const record = { id: command.id, timeMs: nowMs, size: command.size ?? 0 };
        return { kind: 'commit', record, reply: { kind: 'added', place: this.entries.length }, effects, waiting: [] };
      }
      case 'read':
        return { kind: 'answer', reply: { kind: 'entries', entries: [...this.entries] }, effects: [] };
      case 'refuse':
        return { kind: 'answer', reply: { kind: 'refused', count: this.entries.length }, effects: [] };
      case 'await':
        return { kind: 'wait', barrier: false, effects: [], waiting: [...this.#waiting, askId] };
      case 'poison':
        return { kind: 'commit', record: { id: 'poison', timeMs: nowMs, size: 0 }, reply: { kind: 'added', place: -1 }, effects: [] };
      case 'unwritable':
        return {
          kind: 'commit',
          record: { id: 'unwritable', timeMs: nowMs, size: 0 },
          reply: { kind: 'added', place: -1 },
          effects: [],
          waiting: [],
        };
      case 'break':
        return { kind: 'commit', record: { id: 'break', timeMs: nowMs, size: 0 }, reply: { kind: 'added', place: -1 }, effects: [] };
      case 'throw':
        throw new Error('planted failure of the core');
    }
  }

  tooLarge(): undefined {
    return undefined;
  }

  idsOf(command: LedgerCommand): CommandIds {
    return { command: command.kind, id: 'id' in command ? command.id : undefined };
  }

  accept(handled: HandledEntry): void {
    if (handled.kind === 'commit') this.evolve(handled.record);
    if (handled.waiting !== undefined) this.#waiting = handled.waiting;
  }

  /** From a checkpoint, into a ledger that is empty. */
  install(ids: readonly string[], lastTimeMs: number): void {
    assert.equal(this.entries.length, 0);
    for (const id of ids) this.evolve({ id, timeMs: lastTimeMs, size: 0 });
  }

  evolve(record: LedgerRecord): void {
    if (record.id === 'break') throw new Error('planted failure of evolve');
    this.#places.set(record.id, this.entries.length);
    this.entries.push(record.id);
    this.lastTimeMs = record.timeMs;
  }

  cancel(askId: number): HandledEntry {
    if (!this.#waiting.includes(askId)) return { kind: 'wait', barrier: false, effects: [] };
    const waiting = this.#waiting.filter((waiter) => waiter !== askId);
    return { kind: 'wait', barrier: false, effects: [{ kind: 'reply', askId, reply: { kind: 'canceled' } }], waiting };
  }
}

export const ledgerScale: CommandScale<LedgerCommand> = {
  bytesOf: (command) => 100 + ('size' in command ? (command.size ?? 0) : 0),
  // `orders/7` is of orders.
  namespaceOf: (command) => ('id' in command && command.id.includes('/') ? command.id.slice(0, command.id.indexOf('/')) : ''),
  finishesWork: () => false,
};

export const ledgerCodec: RecordCodec<LedgerRecord> = {
  encode(record): EncodedRecord {
    if (record.id === 'unwritable') throw new RangeError('planted failure of the codec');
    const value = new Uint8Array(record.size + 64);
    const text = new TextEncoder().encode(`${record.timeMs} ${record.id}`);
    value.set(text);
    const { timeMs } = record;
    return { key: `ledger/${record.id}`, schema: 1, type: 'Added', namespace: 'ledger', workflowId: record.id, runId: '', timeMs, value };
  },
  decode(value, schema): LedgerRecord {
    if (schema !== 1) throw new Error(`unknown schema ${schema}`);
    const text = new TextDecoder().decode(value.subarray(0, value.indexOf(0)));
    const space = text.indexOf(' ');
    const id = text.slice(space + 1);
    if (id === 'poison') throw new Error('a record that cannot be read');
    return { id, timeMs: Number(text.slice(0, space)), size: value.byteLength - 64 };
  },
};

export const jsonClaims = {
  encode: (claim: { readonly ownerNonce: string; readonly owner: string }): Uint8Array => new TextEncoder().encode(JSON.stringify(claim)),
  decode(value: Uint8Array): { readonly ownerNonce: string; readonly owner: string } {
    const claim: unknown = JSON.parse(new TextDecoder().decode(value));
    if (typeof claim === 'object' && claim !== null && 'ownerNonce' in claim && 'owner' in claim) {
      return { ownerNonce: String(claim.ownerNonce), owner: String(claim.owner) };
    }
    throw new Error('not a claim');
  },
};

/** What happened around a ledger, for tests to look at. */
export type LedgerEvent =
  | { readonly kind: 'committed'; readonly id: string; readonly offset: number; readonly replayed: boolean }
  | { readonly kind: 'dispatched'; readonly id: string }
  | { readonly kind: 'activated'; readonly epoch: number }
  | { readonly kind: 'undecided'; readonly own: boolean; readonly command: string; readonly reason: string }
  | { readonly kind: 'deactivated' };

export function ledgerMemory(
  answer: (askId: number, reply: LedgerReply) => void,
  happened: (event: LedgerEvent) => void,
  core: LedgerCore = new LedgerCore(),
): PartitionMemory<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect> {
  const shell: PartitionShell<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect> = {
    answer,
    act(effect) {
      if (effect.kind === 'reply') answer(effect.askId, effect.reply);
      else happened({ kind: 'dispatched', id: effect.id });
    },
    activated: (epoch) => happened({ kind: 'activated', epoch }),
    accepted: () => {},
    undecided: (askId, command, error) =>
      happened({ kind: 'undecided', own: askId === NOBODY, command: command.kind, reason: errorText(error) }),
    deactivated: () => happened({ kind: 'deactivated' }),
  };
  const committed = (record: LedgerRecord, { offset }: RecordPosition, replayed: boolean): void =>
    happened({ kind: 'committed', id: record.id, offset, replayed });
  return { core, shell, subscribers: [{ committed }] };
}
