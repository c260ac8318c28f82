/**
 * Whoever claimed last may still serve. Then this start is the mistake, and it ends before it takes anything.
 *
 *     the owner's addresses     nobody, or somebody else answers     taken over: it crashed, was stopped, is frozen or out of reach
 *                               it answers                           it may be stopping: asked again for a while, then refused
 *
 * This is courtesy, not safety: the claim's epoch alone decides who owns. A server that cannot be reached from here is taken over as ever,
 * and says so when it ends.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AnotherServerError } from '../config/another-server.ts';
import type { Logger } from '../observability/logger.ts';
import { addressesMax, type ServerContact } from './server-contact.ts';

/** As in the transport: the module form of `node:http` loads Node's fetch, which takes 20 ms of each start. */
const { get } = process.getBuiltinModule('node:http');

export type PreviousOwner = ServerContact & { readonly owner: string };

export type OwnerLimits = {
  /** A server that takes longer to say who it is, is frozen. */
  readonly answerTimeoutMs: number;
  /** How long an owner that answers is given to stop. */
  readonly patienceMs: number;
  readonly askAgainMs: number;
};

const defaultOwnerLimits: OwnerLimits = { answerTimeoutMs: 2_000, patienceMs: 5_000, askAgainMs: 250 };

/** Throws AnotherServerError when the owner goes on serving. */
export async function waitForPreviousOwner(
  previous: PreviousOwner,
  prefix: string,
  logger: Logger,
  limits: OwnerLimits = defaultOwnerLimits,
): Promise<void> {
  const beganMs = performance.now();
  for (let told = false; await answers(previous, limits.answerTimeoutMs); told = true) {
    if (!told) logger.warn('another server serves this prefix, waiting for it to stop', { prefix, owner: previous.owner });
    // By the clock, not by attempts: an owner under load takes its time for each answer.
    if (performance.now() - beganMs >= limits.patienceMs) throw new AnotherServerError(anotherServer(previous.owner, prefix));
    await pause(limits.askAgainMs);
  }
}

export function anotherServer(owner: string, prefix: string): string {
  return `another server (${owner}) serves prefix ${prefix}: stop one of them, or change perdure.kafka.topicPrefix`;
}

/** The first address that answers is enough: others may lie in networks that swallow what comes from here. */
async function answers({ instance, addresses }: ServerContact, timeoutMs: number): Promise<boolean> {
  if (instance === '') return false;
  const asked = addresses.slice(0, addressesMax).map(async (address) => {
    if ((await instanceAt(address, timeoutMs)) !== instance) throw new Error('somebody else, or nobody');
  });
  return await Promise.any(asked).then(
    () => true,
    () => false,
  );
}

/** Who answers there; undefined when nobody does, or nobody of us. */
function instanceAt(address: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    try {
      const request = get(`http://${address}/health`, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
        const header = response.headers['perdure-instance'];
        resolve(typeof header === 'string' ? header : undefined);
        // A stranger's body may have no end.
        request.destroy();
      });
      request.on('error', () => resolve(undefined));
      // Always comes. An answer that switches protocols brings neither a response nor an error.
      request.on('close', () => resolve(undefined));
    } catch {
      // Not an address: another program wrote this claim.
      resolve(undefined);
    }
  });
}
