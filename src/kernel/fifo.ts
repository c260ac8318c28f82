import { assert } from './assert.ts';

/** A ring is given back when it runs empty above this size. */
const CAPACITY_KEPT = 1_024;

/** A queue in a ring: no allocation per element, and a burst's memory is given back once the queue runs empty. A new one is cheap: some live for one element. */
export class Fifo<T> {
  #ring: (T | undefined)[] = [undefined, undefined, undefined, undefined];
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: T): void {
    if (this.#length === this.#ring.length) this.#resize(this.#ring.length * 2);
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = value;
    this.#length += 1;
  }

  peek(): T | undefined {
    return this.#length === 0 ? undefined : this.#ring[this.#head];
  }

  /** The element at `index`, counted from the head. */
  at(index: number): T | undefined {
    return index < this.#length ? this.#ring[(this.#head + index) & (this.#ring.length - 1)] : undefined;
  }

  /** Replaces the element at `index`, which must exist. */
  set(index: number, value: T): void {
    assert(index < this.#length, 'only a place that is taken is set');
    this.#ring[(this.#head + index) & (this.#ring.length - 1)] = value;
  }

  shift(): T {
    assert(this.#length > 0, 'something is in the queue');
    const value = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length -= 1;
    if (this.#length === 0 && this.#ring.length > CAPACITY_KEPT) this.clear();
    return value as T;
  }

  clear(): void {
    if (this.#length === 0 && this.#ring.length <= CAPACITY_KEPT) return;
    this.#ring = [undefined, undefined, undefined, undefined];
    this.#head = 0;
    this.#length = 0;
  }

  #resize(capacity: number): void {
    const ring: (T | undefined)[] = Array.from({ length: capacity });
    for (let index = 0; index < this.#length; index++) ring[index] = this.#ring[(this.#head + index) & (this.#ring.length - 1)];
    this.#ring = ring;
    this.#head = 0;
  }
}
