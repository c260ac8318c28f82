/**
 * The life of a partition's owner: the state that it is in, and what is known in that state. Nothing else says what the owner may do.
 *
 *     unassigned ─▶ restoring ─▶ replaying ─▶ claiming ─▶ active ─▶ draining ─▶ released
 *          ▲            ▲            │         │    ▲        │
 *          │            └─ refold ───┴─────────┘    └─ doubt ┘
 *          │               (memory is dropped)
 *          └───── lost: from every state that could own, when a rival's claim counts
 *
 *     failed: a record that cannot be applied, or a log that lost records. Needs a person; `assign` tries again.
 *
 * The machine is the law: which event means something in which state, and where it leads. Within a state its owner notes what happens (an
 * append was sealed, a claim landed) in the state itself; commands and appends do not pass through the machine.
 */
import { setup } from 'xstate';
import { assert } from '../../kernel/assert.ts';
import type { Claim, ClaimInLog } from './effective.ts';
import type { LogRecord } from '../../ports/log.ts';

export const partitionStates = ['unassigned', 'restoring', 'replaying', 'claiming', 'active', 'draining', 'released', 'failed'] as const;
export type PartitionState = (typeof partitionStates)[number];

const leadsTo = {
  assign: 'restoring',
  restored: 'replaying',
  replayed: 'claiming',
  claimed: 'active',
  doubt: 'claiming',
  refold: 'restoring',
  drain: 'draining',
  drained: 'released',
  lost: 'unassigned',
  fail: 'failed',
  close: 'released',
} as const;

export type PartitionEvent = keyof typeof leadsTo;

export const partitionMachine = setup({
  types: { events: {} as { readonly type: PartitionEvent } },
}).createMachine({
  id: 'partition',
  initial: 'unassigned',
  states: {
    unassigned: { on: on('assign', 'close') },
    restoring: { on: on('restored', 'lost', 'fail', 'close') },
    replaying: { on: on('replayed', 'refold', 'lost', 'fail', 'close') },
    claiming: { on: on('claimed', 'refold', 'lost', 'fail', 'close') },
    active: { on: on('doubt', 'drain', 'lost', 'fail', 'close') },
    draining: { on: on('drained', 'lost', 'fail', 'close') },
    released: { on: on('assign') },
    failed: { on: on('assign', 'close') },
  },
});

export type Life =
  | NotOwned<'unassigned'>
  | { readonly state: 'restoring' }
  | { readonly state: 'replaying' }
  | Claiming
  | { readonly state: 'active'; readonly service: Service }
  | { readonly state: 'draining'; readonly service: Service; readonly onReleased: () => void }
  | NotOwned<'released'>
  | { readonly state: 'failed'; readonly reason: string };

/** `reason`: of what ended it last, '' where that was meant. `rival`: who took the partition from us. */
type NotOwned<State> = { readonly state: State; readonly reason: string; readonly rival: ClaimInLog | undefined };

/** The owner is claiming: it has replayed the journal or is in doubt, and does not serve yet. */
export type Claiming = {
  readonly state: 'claiming';
  /** Undefined: memory is what the journal says. */
  readonly doubt: Doubt | undefined;
  /** The nonces of all our claims in this time. A late copy of an earlier one is void, whoever wrote it. */
  readonly ownNonces: Set<string>;
  unanswered: number;
  claim: ClaimStep;
};

/** Memory rests on records that are not in the log for certain. It stays if nothing of others is found there. */
export type Doubt = {
  /** Sent, and not judged: they may be there. */
  readonly sent: readonly LogRecord[];
  /** These are certainly not in the log, and go there again behind the ones sent. */
  readonly again: readonly (readonly LogRecord[])[];
  /** Memory is dropped, whatever is found: another has restored since, and its rows are no longer below our journal (T12). */
  dropsMemory: boolean;
};

export type OwnClaim = { readonly epoch: number; readonly claim: Claim };

export type ClaimStep =
  /** None yet; or the fate of the last is open, and the log is asked whether a rival is at work. */
  { readonly kind: 'none' } | { readonly kind: 'wanted'; readonly own: OwnClaim } | SentClaim | LandedClaim;

/** `proof`: its number as a proof for reads. */
export type SentClaim = { readonly kind: 'sent'; readonly own: OwnClaim; readonly proof: number };

/** The claim is in the log: what stands before it is final, and is being judged. */
export type LandedClaim = { readonly kind: 'landed'; readonly own: OwnClaim; readonly proof: number; readonly offset: number };

/** The owner serves, from a claim that counts until doubt or the end: commands are decided, and their records are appended. */
export type Service = {
  /** One thing at a time. */
  underWay: Append | LookBack | undefined;
  /** The leader changed: what was confirmed must be found unchanged before anything more is (T6). */
  suspect: boolean;
  /** Batches sealed before, and not in the log for certain: they go before everything that is open, the first one first. */
  readonly again: (readonly LogRecord[])[];
};

/** Sealed, and not judged. */
export type Append = {
  readonly kind: 'append';
  /** Its number as a proof for reads, and its generation. */
  readonly proof: number;
  readonly records: readonly LogRecord[];
  endPending: FoundEnd | undefined;
};

/** What stands in the log behind what was confirmed is being read: nothing is sealed, and no outcome counts. */
export type LookBack = {
  readonly kind: 'lookBack';
  /** Looked for, and not found yet. */
  batch: Append | undefined;
  endPending: FoundEnd | undefined;
};

/** An end of the log that was found while something was under way: it is judged afterwards. */
export type FoundEnd = { readonly proof: number; readonly end: number };

/** Where an event leads, with what is known there. */
export type Next<Event extends PartitionEvent> = Extract<Life, { readonly state: (typeof leadsTo)[Event] }>;

export class PartitionLife {
  #now: Life = { state: 'unassigned', reason: '', rival: undefined };
  #hasServed = false;

  get now(): Life {
    return this.#now;
  }

  get state(): PartitionState {
    return this.#now.state;
  }

  /** Undefined: no command is decided. */
  get service(): Service | undefined {
    const now = this.#now;
    return now.state === 'active' || now.state === 'draining' ? now.service : undefined;
  }

  get hasServed(): boolean {
    return this.#hasServed;
  }

  can(event: PartitionEvent): boolean {
    return partitionMachine.resolveState({ value: this.#now.state }).can({ type: event });
  }

  enter<Event extends PartitionEvent>(event: Event, next: Next<Event>): void {
    assert(this.can(event), `'${event}' means nothing to a partition that is ${this.#now.state}`);
    this.#now = next;
    if (next.state === 'active') this.#hasServed = true;
  }
}

export function claimingWith(doubt: Doubt | undefined, claim: ClaimStep): Claiming {
  return { state: 'claiming', doubt, ownNonces: new Set(), unanswered: 0, claim };
}

function on<Event extends PartitionEvent>(...events: readonly Event[]): Pick<typeof leadsTo, Event> {
  return Object.fromEntries(events.map((event) => [event, leadsTo[event]])) as Pick<typeof leadsTo, Event>;
}
