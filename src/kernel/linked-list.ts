/** A queue of objects that carry their own links: push, shift and removal from the middle without searching or allocating. */
import { assert } from './assert.ts';

export interface Linked<T> {
  prev: T | undefined;
  next: T | undefined;
  /** True while in a list; an object is in one list at most. */
  linked: boolean;
}

export class LinkedList<T extends Linked<T>> {
  first: T | undefined = undefined;
  last: T | undefined = undefined;
  size = 0;

  push(item: T): void {
    this.insertBefore(item, undefined);
  }

  unshift(item: T): void {
    this.insertBefore(item, this.first);
  }

  /** Puts the item before the first one that `isLater`: what is new belongs at the end, what comes back near the front. */
  insert(item: T, isLater: (other: T, item: T) => boolean): void {
    if (this.last === undefined || !isLater(this.last, item)) return this.push(item);
    let at = this.first;
    while (at !== undefined && !isLater(at, item)) at = at.next;
    this.insertBefore(item, at);
  }

  shift(): T | undefined {
    const item = this.first;
    if (item !== undefined) this.remove(item);
    return item;
  }

  remove(item: T): void {
    assert(item.linked, 'an item is removed from the list that it is in');
    if (item.prev === undefined) this.first = item.next;
    else item.prev.next = item.next;
    if (item.next === undefined) this.last = item.prev;
    else item.next.prev = item.prev;
    item.prev = undefined;
    item.next = undefined;
    item.linked = false;
    this.size--;
  }

  /** Before one that is in this list; undefined: at the end. */
  insertBefore(item: T, at: T | undefined): void {
    assert(!item.linked, 'an item is in one list at most');
    item.linked = true;
    item.next = at;
    item.prev = at === undefined ? this.last : at.prev;
    if (item.prev === undefined) this.first = item;
    else item.prev.next = item;
    if (at === undefined) this.last = item;
    else at.prev = item;
    this.size++;
  }
}
