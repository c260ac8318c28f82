import { beforeEach, describe, expect, test } from 'vitest';
import type { CallbackOutcome } from '../../src/ports/callback-deliveries.ts';
import type { AddressRule } from '../../src/kernel/callback-address.ts';
import { CallbackSender, deliveryLimits } from '../../src/outbound/callback-deliveries.ts';
import type { DeliveryOutcome } from '../../src/outbound/completion-answer.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import { EventType } from '../../src/wire/generated/lean/enums.ts';
import { emptyHistoryEvent, encodeHistoryEvent } from '../../src/wire/generated/lean/history.ts';
import { HandClock } from '../support/hand-clock.ts';

const closeEvent = encodeHistoryEvent({ ...emptyHistoryEvent(), eventType: EventType.WORKFLOW_EXECUTION_TERMINATED });
const everything: AddressRule = { pattern: '*', allowInsecure: true, allowPrivate: true };
const delivered: DeliveryOutcome = { kind: 'delivered' };
const failed: DeliveryOutcome = { kind: 'failed', errorType: 'ECONNREFUSED', message: '' };

type Begun = { readonly host: string; readonly answer: (outcome: DeliveryOutcome) => void; aborted: boolean };

let clock: HandClock;
let rules: readonly AddressRule[];
let posts: Begun[];
let outcomes: CallbackOutcome[];
let settingsAsked: number;
let requestsMax: number;
let timeoutMs: number;
let sender: CallbackSender;

beforeEach(() => {
  clock = new HandClock();
  rules = [everything];
  posts = [];
  outcomes = [];
  settingsAsked = 0;
  requestsMax = 1;
  timeoutMs = 60_000;
  sender = new CallbackSender({
    clock,
    settingsOf: () => {
      settingsAsked++;
      return { requestTimeoutMs: 10_000, breaker: { requestsMax, intervalMs: 0, timeoutMs }, allowedAddresses: rules };
    },
    post: (post, answer) => {
      const begun: Begun = { host: post.address.hostname, answer, aborted: false };
      posts.push(begun);
      return () => (begun.aborted = true);
    },
    attempted: () => {},
  });
});

const callbackTo = (host: string): Uint8Array => encodeCallback({ nexus: { url: `http://${host}/`, header: new Map() }, links: [] });

function deliver(namespaceId: string, host: string, close: () => Promise<Uint8Array> = () => Promise.resolve(closeEvent)): () => void {
  const about = { namespaceId, namespace: namespaceId, workflowId: 'w', runId: 'r', startTimeMs: 0, attachedBy: '' };
  return sender.deliver({ ...about, callback: callbackTo(host), closeEvent: close }, (outcome) => outcomes.push(outcome));
}

/** What was begun has been made a request by then. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}

const hosts = (): readonly string[] => posts.map(({ host }) => host);

describe('callbacks on their way', () => {
  test('four to a destination; the fifth goes when one of them has ended', async () => {
    for (let count = 0; count < 5; count++) deliver('a', 'slow.example');
    deliver('a', 'other.example');
    await settled();
    expect(hosts().toSorted()).toEqual(['other.example', ...Array<string>(4).fill('slow.example')]);
    posts[0]?.answer(delivered);
    await settled();
    expect(posts).toHaveLength(6);
    expect(outcomes).toEqual([delivered]);
  });

  test('a namespace with many destinations leaves half of the places to others', async () => {
    for (let host = 0; host < 200; host++) deliver('greedy', `h${host}.example`);
    await settled();
    expect(posts).toHaveLength(deliveryLimits.ofNamespaceMax);
    for (let host = 0; host < 60; host++) deliver('modest', `m${host}.example`);
    await settled();
    expect(posts).toHaveLength(deliveryLimits.underWayMax);
    expect(hosts().filter((host) => host.startsWith('m'))).toHaveLength(50);
  });

  test('lines take turns', async () => {
    for (let host = 0; host < 12; host++) for (let count = 0; count < 6; count++) deliver('a', `h${host}.example`);
    for (let host = 0; host < 12; host++) for (let count = 0; count < 6; count++) deliver('b', `h${host}.example`);
    deliver('b', 'last.example');
    await settled();
    for (let at = 0; !hosts().includes('last.example'); at++) {
      expect(at).toBeLessThan(12);
      posts[at]?.answer(delivered);
      await settled();
    }
  });

  test('a namespace with one destination does not wait for the many of another', async () => {
    for (let host = 0; host < 100; host++) deliver(`n${host % 2}`, `h${host}.example`);
    for (let host = 0; host < 1_000; host++) deliver('greedy', `g${host}.example`);
    for (let count = 0; count < 4; count++) deliver('modest', 'm.example');
    await settled();
    for (const { answer } of posts.slice(0, 8)) answer(delivered);
    await settled();
    expect(hosts().filter((host) => host === 'm.example')).toHaveLength(4);
  });

  test('a turn costs the same however many destinations wait that may not begin', async () => {
    for (let host = 0; host < 50; host++) for (let count = 0; count < 10; count++) deliver('down', `down${host}.example`);
    await settled();
    for (let at = 0; at < posts.length; at++) {
      posts[at]?.answer(failed);
      if (at === posts.length - 1) await settled();
    }
    settingsAsked = 0;
    for (let host = 0; host < 20; host++) deliver('modest', `m${host}.example`);
    await settled();
    for (const { host, answer } of posts) if (host.startsWith('m')) answer(delivered);
    await settled();
    expect(outcomes.filter(({ kind }) => kind === 'delivered')).toHaveLength(20);
    // Without what each of the twenty takes for itself, all of the fifty would be asked for 40 times.
    expect(settingsAsked).toBeLessThan(200);
  });

  test('a namespace whose destinations are down leaves room to wait to others, however many are so', async () => {
    for (let namespace = 0; namespace < 6; namespace++)
      for (let host = 0; host < 6; host++) for (let count = 0; count < 1_000; count++) deliver(`n${namespace}`, `down${host}.example`);
    expect(sender.isFull('n0', 'another.example')).toBe(true);
    expect(sender.isFull('modest', 'up.example')).toBe(false);
    await settled();
    deliver('modest', 'up.example');
    for (const { answer } of posts.slice(0, 8)) answer(delivered);
    await settled();
    expect(hosts()).toContain('up.example');
  });

  test('too many that wait are sent back', async () => {
    for (let count = 0; count < deliveryLimits.waitingOfLineMax + deliveryLimits.ofLineMax; count++) deliver('a', 'slow.example');
    deliver('a', 'slow.example');
    await settled();
    expect(outcomes).toMatchObject([{ kind: 'full' }]);
  });
});

describe('a destination that fails', () => {
  async function fail(times: number): Promise<void> {
    for (let count = 0; count < times; count++) {
      deliver('a', 'down.example');
      await settled();
      posts.at(-1)?.answer(failed);
    }
  }

  test('is not blamed for what this machine has run out of', async () => {
    for (let count = 0; count < 10; count++) {
      deliver('a', 'host.example');
      await settled();
      posts.at(-1)?.answer({ kind: 'full', errorType: 'EMFILE', message: 'too many open files' });
      await settled();
    }
    expect(posts).toHaveLength(10);
    expect(sender.isBlocked('a', callbackTo('host.example'))).toBe(false);
    expect(outcomes).toHaveLength(10);
  });

  test('is left alone after six failures in a row, for a minute; others go on', async () => {
    await fail(6);
    expect(sender.isBlocked('a', callbackTo('down.example'))).toBe(true);
    expect(sender.isBlocked('b', callbackTo('down.example'))).toBe(false);
    for (let count = 0; count < 3; count++) deliver('a', 'down.example');
    deliver('a', 'up.example');
    await settled();
    expect(hosts().slice(6)).toEqual(['up.example']);
    clock.advance(60_000);
    await settled();
    expect(hosts().slice(7)).toEqual(['down.example']);
    posts.at(-1)?.answer(delivered);
    await settled();
    expect(hosts().slice(7)).toEqual(Array<string>(3).fill('down.example'));
    expect(sender.isBlocked('a', callbackTo('down.example'))).toBe(false);
  });

  test('and fails again: another minute', async () => {
    await fail(6);
    deliver('a', 'down.example');
    deliver('a', 'down.example');
    clock.advance(60_000);
    await settled();
    posts.at(-1)?.answer(failed);
    await settled();
    expect(posts).toHaveLength(7);
    clock.advance(60_000);
    await settled();
    expect(posts).toHaveLength(8);
  });

  test('is called again though operators change how many tries it takes while it is tried', async () => {
    requestsMax = 3;
    await fail(6);
    clock.advance(60_000);
    for (let count = 0; count < 2; count++) {
      deliver('a', 'down.example');
      await settled();
      posts.at(-1)?.answer(delivered);
    }
    requestsMax = 1;
    deliver('a', 'down.example');
    await settled();
    expect(posts).toHaveLength(9);
  });

  test('is called again as soon as operators say, though it was to be left alone for a day', async () => {
    timeoutMs = 86_400_000;
    await fail(6);
    deliver('a', 'down.example');
    timeoutMs = 60_000;
    clock.advance(60_000);
    await settled();
    expect(posts).toHaveLength(7);
  });

  test('stays alone though a callback to it is refused by us', async () => {
    await fail(6);
    clock.advance(60_000);
    rules = [];
    deliver('a', 'down.example');
    clock.advance(0);
    await settled();
    expect(outcomes.at(-1)).toMatchObject({ kind: 'refused', errorType: 'AddressNotAllowed' });
    expect(sender.isBlocked('a', callbackTo('down.example'))).toBe(true);
    rules = [everything];
    for (let count = 0; count < 4; count++) deliver('a', 'down.example');
    await settled();
    expect(posts).toHaveLength(7);
  });

  test('what it refuses says that it is there', async () => {
    await fail(5);
    deliver('a', 'down.example');
    await settled();
    posts.at(-1)?.answer({ kind: 'refused', errorType: 'HandlerError BAD_REQUEST', message: '' });
    await fail(5);
    expect(sender.isBlocked('a', callbackTo('down.example'))).toBe(false);
  });
});

describe('a callback', () => {
  test('is not sent where that is not allowed any more', async () => {
    rules = [];
    deliver('a', 'me:secret@example.com');
    await settled();
    expect(outcomes).toMatchObject([{ kind: 'refused', errorType: 'AddressNotAllowed' }]);
    expect(JSON.stringify(outcomes)).toContain('http://example.com');
    expect(JSON.stringify(outcomes)).not.toContain('secret');
    expect(posts).toEqual([]);
  });

  test('with a URL that was taken once and is none any more is refused, and what else stands in it is not told', async () => {
    deliver('a', 'me:secret@example.com:0');
    clock.advance(0);
    await settled();
    expect(outcomes).toMatchObject([{ kind: 'refused', errorType: 'InvalidURL' }]);
    expect(JSON.stringify(outcomes)).not.toContain('secret');
  });

  test('whose close cannot be read says so, and keeps no place', async () => {
    for (let count = 0; count < 5; count++) deliver('a', 'example.com', () => Promise.reject(new Error('gone')));
    await settled();
    expect(outcomes).toHaveLength(5);
    expect(outcomes[0]).toMatchObject({ kind: 'unread', error: new Error('gone') });
    deliver('a', 'example.com');
    await settled();
    expect(posts).toHaveLength(1);
  });

  test('that is given up is not sent, or its request ends; nobody hears of it, and its place is free', async () => {
    const given = Array.from({ length: 5 }, () => deliver('a', 'example.com'));
    deliver('a', 'example.com');
    await settled();
    given[4]?.();
    given[0]?.();
    await settled();
    expect(posts.map(({ aborted }) => aborted)).toEqual([true, false, false, false, false]);
    for (const { answer } of posts) answer(delivered);
    expect(outcomes).toHaveLength(4);
  });
});
