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
import { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { Writer } from '../../wire/writer.ts';

/** How one kind is written and read. `nowMs` is this side's wall clock, for what travels as remaining time. */
export type KindCodec<Message> = {
  readonly field: number;
  readonly write: (w: Writer, message: Message, nowMs: number) => void;
  readonly read: (r: Reader, nowMs: number) => Message;
};

/** Total: a kind without its codec does not compile. */
export type KindCodecs<Union extends Kinded> = { readonly [Kind in Union['kind']]: KindCodec<Extract<Union, { readonly kind: Kind }>> };

type Kinded = { readonly kind: string };

/** The same when the compiler has forgotten which kind it is: `KindCodecs` says that each is asked for its own only. */
type AnyKindCodec<Union> = {
  readonly field: number;
  write(w: Writer, message: Union, nowMs: number): void;
  read(r: Reader, nowMs: number): Union;
};

const writer = new Writer();

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

  encode(message: Union, nowMs: number): Uint8Array {
    const codec = this.#byKind[message.kind];
    assert(codec !== undefined, `${message.kind} is no ${this.#name}`);
    writer.reset();
    const at = writer.open(codec.field * 8 + lengthDelimited);
    codec.write(writer, message, nowMs);
    writer.close(at);
    return writer.finish();
  }

  /** Throws WireError. */
  decode(bytes: Uint8Array, nowMs: number): Union {
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

/** A kind whose message has the core's own form. */
export function plain<Kind extends string, Body>(
  field: number,
  kind: Kind,
  write: (w: Writer, body: Body) => void,
  read: (r: Reader) => Body,
): KindCodec<Body & { readonly kind: Kind }> {
  return { field, write, read: (r) => ({ ...read(r), kind }) };
}

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
