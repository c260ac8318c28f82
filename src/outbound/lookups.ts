/**
 * Names into addresses, as this machine resolves them (its hosts file, its search domains). That is done in the few threads which all of the process
 * share: so only two are used at a time, and many who ask for one name ask once.
 */
import { lookup as resolve, type LookupAddress } from 'node:dns';

type Answer = { readonly error: Error } | { readonly addresses: readonly LookupAddress[] };

const CONCURRENT_MAX = 2;

export class Lookups {
  readonly #resolve: typeof resolve;
  readonly #asked = new Map<string, ((answer: Answer) => void)[]>();
  readonly #waiting: string[] = [];
  #underWay = 0;

  constructor(resolveName = resolve) {
    this.#resolve = resolveName;
  }

  addressesOf(hostname: string, answer: (answer: Answer) => void): void {
    const others = this.#asked.get(hostname);
    if (others !== undefined) return void others.push(answer);
    this.#asked.set(hostname, [answer]);
    this.#waiting.push(hostname);
    this.#next();
  }

  #next(): void {
    const hostname = this.#underWay < CONCURRENT_MAX ? this.#waiting.shift() : undefined;
    if (hostname === undefined) return;
    this.#underWay++;
    this.#resolve(hostname, { all: true }, (error, addresses) => {
      this.#underWay--;
      const asked = this.#asked.get(hostname) ?? [];
      this.#asked.delete(hostname);
      for (const answer of asked) answer(error === null ? { addresses } : { error });
      this.#next();
    });
  }
}
