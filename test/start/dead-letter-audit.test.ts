/** The audit beside a server that serves: lost or failed it comes back by itself, for until then nobody may change a letter. */
import { ownWork } from '../../src/actors/asks/asks.ts';
import { expect, test } from 'vitest';
import { Router } from '../../src/actors/asks/router.ts';
import type { GrowingLog } from '../../src/ports/log.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { deadLetterAudit } from '../../src/start/dead-letter-audit.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { FAR_AWAY_MS } from '../actors/far-away.ts';
import { jsonClaims } from '../actors/ledger.ts';
import { until } from '../support/event-loop.ts';

class Process {
  readonly router = new Router(systemClock);
  readonly audit: ReturnType<typeof deadLetterAudit>;

  constructor(log: GrowingLog) {
    const common = { owner: 'test', claims: jsonClaims, clock: systemClock, random: systemRandom, logger: silentLogger };
    this.audit = deadLetterAudit({ ...common, log, prefix: 'perdure', router: this.router, revival: { pauseMs: 20 } });
    this.audit.open();
  }

  ask(): Promise<{ readonly kind: string }> {
    return new Promise((resolve) => void this.router.askAudit({ kind: 'describeAudit', source: 'a queue' }, ownWork(FAR_AWAY_MS), resolve));
  }

  async served(): Promise<void> {
    while ((await this.ask()).kind !== 'auditTold') await new Promise((resolve) => void setImmediate(resolve));
  }

  async stop(): Promise<void> {
    await this.audit.stop();
    this.router.close();
  }
}

/** As a log that others may write too. */
function shared(log: GrowingLog): GrowingLog {
  return {
    exclusive: false,
    attach: (...given) => log.attach(...given),
    read: (...given) => log.read(...given),
    bounds: (id) => log.bounds(id),
    end: (id) => log.end(id),
    truncate: (...given) => log.truncate(...given),
    close: () => log.close(),
    addTopic: (topic) => log.addTopic(topic),
  };
}

test('an audit that a rival has taken is taken back once he is gone', async () => {
  const log = shared(await openEmbeddedLog({ filename: undefined, topics: [] }));
  const server = new Process(log);
  await server.served();
  const rival = new Process(log);
  await until(() => server.audit.concerns.some(({ message }) => message.includes('it is unassigned (ownership lost')));
  expect(server.audit.concerns).toMatchObject([
    { subject: 'perdure.audit', message: expect.stringContaining('are refused until they can') },
  ]);
  await rival.stop();
  await server.served();
  expect(server.audit.concerns).toEqual([]);
  await server.stop();
  await log.close();
});
