/**
 * Names into addresses, as this machine resolves them (its hosts file, its search domains). That is done in the few threads which all of the process
 * share (libuv gives half of its threads to lookups), and nobody can end one that hangs, for 20 s or so: so only some are used at a time.
 *
 *     names that were resolved quickly the last time ─▶ four places      in each kind, namespaces take turns, and a namespace has one place
 *     all others: new, slow, unknown ones            ─▶ four others
 *
 * So a name that hangs holds up its namespace for as long as its own lookup takes, and no other, unless four hang at once.
 */
import { lookup as resolve, type LookupAddress } from 'node:dns';

type Answer = { readonly error: Error } | { readonly addresses: readonly LookupAddress[] };

const lookupLimits = {
  /** Places for each of the two kinds of names. */
  placesMax: 4,
  quickMs: 1_000,
  /** Of more names, those are forgotten that were resolved longest ago. */
  quickNamesMax: 10_000,
} as const;

/** Many who ask for one name in a namespace ask once. */
type Question = {
  readonly name: string;
  readonly namespaceId: string;
  readonly hostname: string;
  readonly answers: Set<(answer: Answer) => void>;
};

export class Lookups {
  readonly #resolve: typeof resolve;
  readonly #questions = new Map<string, Question>();
  readonly #quick = new Set<string>();
  readonly #places = { quick: new Places(), other: new Places() };

  constructor(resolveName = resolve) {
    this.#resolve = resolveName;
  }

  /** Whoever does not want to know any more says so by what this returns. */
  addressesOf(namespaceId: string, hostname: string, answer: (answer: Answer) => void): () => void {
    const name = `${namespaceId} ${hostname}`;
    const question = this.#questions.get(name) ?? { name, namespaceId, hostname, answers: new Set() };
    question.answers.add(answer);
    if (this.#questions.has(name)) return () => this.#leave(question, answer);
    this.#questions.set(name, question);
    const places = this.#quick.has(hostname) ? this.#places.quick : this.#places.other;
    places.add(question);
    this.#next(places);
    return () => this.#leave(question, answer);
  }

  /** One that is being resolved keeps its place, and others may still join it. */
  #leave(question: Question, answer: (answer: Answer) => void): void {
    const { quick, other } = this.#places;
    if (question.answers.delete(answer) && question.answers.size === 0 && (quick.leave(question) || other.leave(question)))
      this.#questions.delete(question.name);
  }

  #next(places: Places): void {
    const question = places.take();
    if (question === undefined) return;
    const { name, namespaceId, hostname, answers } = question;
    const startMs = performance.now();
    // Until it is resolved, nobody else counts on it.
    this.#quick.delete(hostname);
    this.#resolve(hostname, { all: true }, (error, addresses) => {
      this.#questions.delete(name);
      if (error === null && performance.now() - startMs < lookupLimits.quickMs) this.#remember(hostname);
      places.free(namespaceId);
      this.#next(places);
      for (const answer of answers) answer(error === null ? { addresses } : { error });
    });
  }

  #remember(hostname: string): void {
    this.#quick.add(hostname);
    const [oldest] = this.#quick;
    if (this.#quick.size > lookupLimits.quickNamesMax && oldest !== undefined) this.#quick.delete(oldest);
  }
}

class Places {
  /** Questions that wait, by namespace: those first whose turn is next. */
  readonly #waiting = new Map<string, Set<Question>>();
  /** Namespaces that have a place. */
  readonly #taken = new Set<string>();

  add(question: Question): void {
    const others = this.#waiting.get(question.namespaceId);
    if (others === undefined) this.#waiting.set(question.namespaceId, new Set([question]));
    else others.add(question);
  }

  /** False: it does not wait here. */
  leave(question: Question): boolean {
    const others = this.#waiting.get(question.namespaceId);
    if (others?.delete(question) !== true) return false;
    if (others.size === 0) this.#waiting.delete(question.namespaceId);
    return true;
  }

  /** undefined: nobody waits who may have one. */
  take(): Question | undefined {
    if (this.#taken.size >= lookupLimits.placesMax) return undefined;
    for (const [namespaceId, questions] of this.#waiting) {
      const [question] = questions;
      if (question === undefined || this.#taken.has(namespaceId)) continue;
      questions.delete(question);
      if (questions.size === 0) this.#waiting.delete(namespaceId);
      this.#taken.add(namespaceId);
      return question;
    }
    return undefined;
  }

  free(namespaceId: string): void {
    this.#taken.delete(namespaceId);
    const questions = this.#waiting.get(namespaceId);
    if (questions === undefined) return;
    // Behind the others, also behind those that came while it had its turn.
    this.#waiting.delete(namespaceId);
    this.#waiting.set(namespaceId, questions);
  }
}
