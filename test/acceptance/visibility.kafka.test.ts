/** A server whose journals are on Kafka keeps the rows of List itself: it fills them again at each start. */
import { describe, expect, test } from 'vitest';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { describedBy, listedServer, rowsOf } from '../support/listed-workflows.ts';

describe.skipIf(!(await canStartLocalKafka('List on Kafka')))('List on Kafka', () => {
  test('shows what each workflow says of itself, and the same after a restart', async () => {
    const broker = await startLocalKafka();
    try {
      const kafka = { brokers: broker.brokers, topicPrefix: 'listed', replicationFactor: 1, tls: undefined, sasl: undefined };
      const log = { kind: 'kafka', kafka: { ...kafka, autoCreateTopics: true } } as const;
      const first = await listedServer(log);
      const ids = Array.from({ length: 60 }, (_, nth) => `wf-${nth}`);
      for (const [nth, workflowId] of ids.entries()) {
        const handle = await first.client.workflow.start('T', { workflowId, taskQueue: 'q', memo: { workflowId } });
        if (nth % 4 === 0) await handle.terminate();
      }
      const before = await rowsOf(first.client);
      expect(before).toEqual(await describedBy(first.client, ids));
      expect(await rowsOf(first.other)).toEqual([]);
      await first.server.stop();

      const again = await listedServer(log);
      expect(await rowsOf(again.client)).toEqual(before);
      await again.server.stop();
    } finally {
      await broker.stop();
    }
  });
});
