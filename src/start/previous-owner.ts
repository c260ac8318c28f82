/**
 * The server that claimed last may still serve. Then this start is a mistake, and it ends before it claims anything.
 *
 *     its addresses     nobody, or another server answers     taken over: the owner crashed, was stopped, is frozen or out of reach
 *                       it answers                            it may be stopping: asked again for a while, then this start is refused
 *
 * This is not needed for safety, because only the epoch of the claim decides who the owner is. A server that cannot be reached from here is taken over,
 * and reports that when it ends.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AnotherServerError } from '../config/another-server.ts';
import type { Logger } from '../observability/logger.ts';
import { addressesMax, type ServerContact } from './server-contact.ts';

/** Without `import`, because the module form of `node:http` loads Node's fetch, which takes 20 ms of each start. */
const { get } = process.getBuiltinModule('node:http');

export type PreviousOwner = ServerContact & { readonly owner: string };

export type OwnerLimits = {
  /** A server that takes longer to answer is considered frozen. */
  readonly answerTimeoutMs: number;
  /** How long to wait for an owner that answers to stop. */
  readonly patienceMs: number;
  readonly askAgainMs: number;
};

const defaultOwnerLimits: OwnerLimits = { answerTimeoutMs: 2_000, patienceMs: 5_000, askAgainMs: 250 };

/** Throws AnotherServerError if the owner keeps serving. */
export async function waitForPreviousOwner(
  previous: PreviousOwner,
  prefix: string,
  logger: Logger,
  limits: OwnerLimits = defaultOwnerLimits,
): Promise<void> {
  const beganMs = performance.now();
  for (let told = false; await answers(previous, limits.answerTimeoutMs); told = true) {
    if (!told) logger.warn('another server serves this prefix, waiting for it to stop', { prefix, owner: previous.owner });
    // Counts time, not attempts, because an owner under load answers slowly.
    if (performance.now() - beganMs >= limits.patienceMs) throw new AnotherServerError(anotherServer(previous.owner, prefix));
    await pause(limits.askAgainMs);
  }
}

export function anotherServer(owner: string, prefix: string): string {
  return `another server (${owner}) serves prefix ${prefix}: stop one of them, or change perdure.kafka.topicPrefix`;
}

/** The first address that answers is enough: others may be in networks that drop packets from here. */
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

/** The id of the Perdure process that answers there; undefined if there is none. */
function instanceAt(address: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    try {
      const request = get(`http://${address}/health`, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
        const header = response.headers['perdure-instance'];
        resolve(typeof header === 'string' ? header : undefined);
        // The body of another program may never end.
        request.destroy();
      });
      request.on('error', () => resolve(undefined));
      // This event always comes; an answer that switches protocols causes neither a response nor an error.
      request.on('close', () => resolve(undefined));
    } catch {
      // Not an address, so another program wrote this claim.
      resolve(undefined);
    }
  });
}
