/**
 * Names into addresses, as this machine resolves them (its hosts file, its search domains). That is done in the few threads which all of the process
 * share, and nobody can end one that hangs: so only two are used at a time.
 *
 *     names that were resolved quickly the last time ─▶ one place      in each, namespaces take turns
 *     all others: new, slow, unknown ones            ─▶ another
 *
 * So a name that hangs holds up others of its kind for as long as its own lookup takes, and those that are known to work not at all.
 */
import { lookup as resolve, type LookupAddress } from 'node:dns';

type Answer = { readonly error: Error } | { readonly addresses: readonly LookupAddress[] };

const lookupLimits = {
  quickMs: 1_000,
  /** Beyond that those are forgotten that were resolved longest ago. */
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
  readonly #places = { quick: new Place(), other: new Place() };

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
    const place = this.#quick.has(hostname) ? this.#places.quick : this.#places.other;
    place.add(question);
    this.#next(place);
    return () => this.#leave(question, answer);
  }

  /** One that is being resolved keeps its place, and others may still join it. */
  #leave(question: Question, answer: (answer: Answer) => void): void {
    const { quick, other } = this.#places;
    if (question.answers.delete(answer) && question.answers.size === 0 && (quick.leave(question) || other.leave(question)))
      this.#questions.delete(question.name);
  }

  #next(place: Place): void {
    const question = place.take();
    if (question === undefined) return;
    const { name, hostname, answers } = question;
    const startMs = performance.now();
    // Until it is resolved, nobody else counts on it.
    this.#quick.delete(hostname);
    this.#resolve(hostname, { all: true }, (error, addresses) => {
      this.#questions.delete(name);
      if (error === null && performance.now() - startMs < lookupLimits.quickMs) this.#remember(hostname);
      place.free();
      this.#next(place);
      for (const answer of answers) answer(error === null ? { addresses } : { error });
    });
  }

  #remember(hostname: string): void {
    this.#quick.add(hostname);
    const [oldest] = this.#quick;
    if (this.#quick.size > lookupLimits.quickNamesMax && oldest !== undefined) this.#quick.delete(oldest);
  }
}

/** For one lookup at a time. */
class Place {
  /** By namespace, those first whose turn is next. */
  readonly #waiting = new Map<string, Set<Question>>();
  #isTaken = false;
  /** The namespace that had the last turn. */
  #last = '';

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

  /** undefined: nobody waits, or it is taken. */
  take(): Question | undefined {
    const [first, second] = this.#waiting.keys();
    const next = first === this.#last && second !== undefined ? second : first;
    if (this.#isTaken || next === undefined) return undefined;
    const questions = this.#waiting.get(next) ?? new Set();
    const [question] = questions;
    if (question === undefined) return undefined;
    questions.delete(question);
    this.#waiting.delete(next);
    // Behind the others.
    if (questions.size > 0) this.#waiting.set(next, questions);
    this.#last = next;
    this.#isTaken = true;
    return question;
  }

  free(): void {
    this.#isTaken = false;
  }
}
