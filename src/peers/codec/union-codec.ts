/**
 * Asks and answers as bytes: a message with one field, whose number says the kind.
 *
 *     tag(field, 2) │ length │ body of that kind, as proto/perdure/peer/v1 describes it
 *
 * The numbers stand in the tables of this folder and keep their meaning, for two versions serve together while a cluster is upgraded.
 * Encoding takes whatever our own code may ask; decoding has no limit but the size of what it is given (`ownLimits`), and answers with a
 * whole value or throws WireError.
 */
import { assert } from '../../kernel/assert.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { Writer } from '../../wire/writer.ts';
import { numberOrBigint } from '../../kernel/number-or-bigint.ts';
import type { Words } from '../../kernel/words.ts';
import type { AskFailure } from '../../actors/asks/asks.ts';
import { readAskFailure, readNotHere, writeAskFailure, writeNotHere } from '../../wire/generated/peer/ask_failure.ts';

/** How one kind is written and read. `nowMs` is this side's wall clock, for what travels as remaining time. */
export type KindCodec<Message> = {
  readonly field: number;
  readonly write: (w: Writer, message: Message, nowMs: number) => void;
  readonly read: (r: Reader, nowMs: number) => Message;
};

/** Total: a kind without its codec does not compile. */
export type KindCodecs<Union extends Kinded> = { readonly [Kind in Union['kind']]: KindCodec<Extract<Union, { readonly kind: Kind }>> };

type Kinded = { readonly kind: string };

/** A codec whose kind the compiler has forgotten: `KindCodecs` says that each is asked for its own kind only. */
type AnyKindCodec<Union> = {
  readonly field: number;
  write(w: Writer, message: Union, nowMs: number): void;
  read(r: Reader, nowMs: number): Union;
};

const writer = new Writer();
/** The time for messages in which no time travels as what remains of it, as in answers. */
const noClock = 0;

export class UnionCodec<Union extends Kinded> {
  readonly #name: string;
  readonly #byKind: Readonly<Record<string, AnyKindCodec<Union>>>;
  readonly #byField: AnyKindCodec<Union>[] = [];

  /** `name`: what these are, for errors. */
  constructor(name: string, codecs: KindCodecs<Union>) {
    this.#name = name;
    this.#byKind = codecs;
    for (const codec of Object.values(this.#byKind)) {
      assert(this.#byField[codec.field] === undefined, `two kinds of ${name} have the number ${codec.field}`);
      this.#byField[codec.field] = codec;
    }
  }

  encode(message: Union, nowMs = noClock): Uint8Array {
    const codec = this.#byKind[message.kind];
    assert(codec !== undefined, `${message.kind} is no ${this.#name}`);
    writer.reset();
    const at = writer.open(codec.field * 8 + lengthDelimited);
    codec.write(writer, message, nowMs);
    writer.close(at);
    return writer.finish();
  }

  /** Throws WireError. */
  decode(bytes: Uint8Array, nowMs = noClock): Union {
    const r = new Reader(bytes, ownLimits);
    let message: Union | undefined;
    while (r.pos < r.end) {
      const tag = r.tag();
      const codec = (tag & 7) === lengthDelimited ? this.#byField[tag >>> 3] : undefined;
      if (codec === undefined) {
        r.skip(tag);
        continue;
      }
      const outer = r.enter();
      message = codec.read(r, nowMs);
      r.leave(outer);
    }
    if (message === undefined) throw new WireError(`it holds no ${this.#name} that this version knows`);
    return message;
  }
}

const lengthDelimited = 2;

/** A kind whose message has all of the core's properties, by the same names (as-core.ts); `kind` alone is told by the number. */
export function plain<Core extends Kinded>(
  field: number,
  kind: Core['kind'],
  write: (w: Writer, body: CompleteWithin<NoInfer<Core>>) => void,
  read: (r: Reader) => Omit<CompleteWithin<NoInfer<Core>>, 'kind'>,
): KindCodec<Core>;
export function plain(
  field: number,
  kind: string,
  write: (w: Writer, body: Kinded) => void,
  read: (r: Reader) => object,
): KindCodec<Kinded> {
  return { field, write, read: (r) => ({ ...read(r), kind }) };
}

/** A kind whose message differs from what the core has, in what `how` says. */
export function converted<Core extends Kinded, Wire>(
  field: number,
  kind: Core['kind'],
  write: (w: Writer, body: Wire) => void,
  read: (r: Reader) => Wire,
  how: Conversion<CompleteWithin<NoInfer<Core>>, NoInfer<Wire>>,
): KindCodec<Core>;
export function converted(
  field: number,
  kind: string,
  write: (w: Writer, body: object) => void,
  read: (r: Reader) => object,
  { toWire, fromWire }: Conversion<Kinded, object>,
): KindCodec<Kinded> {
  return { field, write: (w, message) => write(w, toWire(message)), read: (r) => ({ ...fromWire(read(r)), kind }) };
}

type Conversion<Core, Wire> = { readonly toWire: (message: Core) => Wire; readonly fromWire: (body: Wire) => Omit<Core, 'kind'> };

/** A kind that says everything by its number. */
export function bare<Kind extends string>(field: number, kind: Kind): KindCodec<{ readonly kind: Kind }> {
  return {
    field,
    write: () => {},
    read: (r) => {
      while (r.pos < r.end) r.skip(r.tag());
      return { kind };
    },
  };
}

/** A word of the cores, which is sent as it is: what is read is one of them or refused. */
export function wordOf<Word extends string>(words: Words<Word>, text: string, field: string): Word {
  const word = words.find(text);
  if (word === undefined) throw new WireError(`${field} is ${JSON.stringify(text)}`);
  return word;
}

/** Whole numbers that may be beyond 2^53, in decimal. */

/** Throws WireError. */
export function bigintOf(digits: string): bigint {
  return BigInt(checked(digits));
}

/** Throws WireError. */
export function wholeOf(digits: string): number | bigint {
  return numberOrBigint(checked(digits));
}

function checked(digits: string): string {
  if (!/^-?\d+$/.test(digits)) throw new WireError(`no whole number: ${JSON.stringify(digits)}`);
  return digits;
}

/** Clocks differ from process to process: a moment by the wall clock travels as the time that is left until then. */

/** Negative once the moment has passed. */
export function timeLeftMs(momentMs: number, nowMs: number): number {
  return momentMs - nowMs;
}

export function momentMs(leftMs: number, nowMs: number): number {
  const moment = nowMs + leftMs;
  if (!Number.isSafeInteger(moment)) throw new WireError(`${leftMs} ms from now is outside ±2^53`);
  return moment;
}

/** Why an ask got no answer of its actor, as bytes: kinds of every answer, beside the actor's own. */

/** Above the numbers of replies. */
export const askFailureCodecs: KindCodecs<AskFailure> = {
  unavailable: plain(101, 'unavailable', writeAskFailure, readAskFailure),
  deadline: plain(102, 'deadline', writeAskFailure, readAskFailure),
  busy: plain(103, 'busy', writeAskFailure, readAskFailure),
  tooLarge: plain(104, 'tooLarge', writeAskFailure, readAskFailure),
  internal: plain(105, 'internal', writeAskFailure, readAskFailure),
  notHere: plain(106, 'notHere', writeNotHere, readNotHere),
  dataLoss: plain(107, 'dataLoss', writeAskFailure, readAskFailure),
};
