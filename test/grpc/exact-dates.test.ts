/** Dates with parts of a millisecond, as clients set and ask for them. */
import { expect, test } from 'vitest';
import { idsOf, listedServer } from '../support/listed-workflows.ts';
import type { Client, Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

const dates: Readonly<Record<string, string>> = {
  '1969 late': '1969-12-31T23:59:59.9999999Z',
  '1969 early': '1969-12-31T23:59:59.999Z',
  whole: '2026-01-01T00:00:00Z',
  tenth: '2026-01-01T00:00:00.000100Z',
  nine: '2026-01-01T02:00:00.000900+02:00',
  next: '2026-01-01T00:00:00.001Z',
};

test('a filter finds what is equal, above and below to the nanosecond, and each workflow shows its date as it was sent', async () => {
  const { server, client } = await listedServer({ kind: 'embedded', filename: undefined, sqlitePragmas: [] });
  await (client.connection as Connection).operatorService.addSearchAttributes({ namespace: 'default', searchAttributes: { Due: 6 } });
  for (const [workflowId, date] of Object.entries(dates)) await start(client, workflowId, { Due: date });
  await start(client, 'none', {});
  for (const [query, expected] of [
    [`Due = '2026-01-01T00:00:00Z'`, ['whole']],
    [`Due = '2026-01-01T00:00:00.0001Z'`, ['tenth']],
    [`Due = 1767225600000900000`, ['nine']],
    [`Due > '2026-01-01T00:00:00.0005Z'`, ['next', 'nine']],
    [`Due >= '2026-01-01T00:00:00.0009Z'`, ['next', 'nine']],
    [`Due < '2026-01-01T00:00:00.0009Z' AND Due > '2000-01-01T00:00:00Z'`, ['tenth', 'whole']],
    [`Due <= -100`, ['1969 early', '1969 late']],
    [`Due < -100`, ['1969 early']],
    [`Due IN ('2026-01-01T00:00:00.0001Z', '2026-01-01T00:00:00.0002Z', '1969-12-31T23:59:59.999999900Z')`, ['1969 late', 'tenth']],
    [`Due NOT IN ('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', '1969-12-31T23:59:59.999Z')`, ['1969 late', 'nine', 'tenth']],
    [`Due != '2026-01-01T00:00:00Z' AND Due > 0`, ['next', 'nine', 'tenth']],
    [`Due BETWEEN '2026-01-01T00:00:00.0001Z' AND '2026-01-01T00:00:00.0009Z'`, ['nine', 'tenth']],
    [`Due NOT BETWEEN '1969-12-31T23:59:59.9991Z' AND '2026-01-01T00:00:00.00099Z'`, ['1969 early', 'next']],
  ] as const) {
    expect([query, new Set(await idsOf(client, query))]).toEqual([query, new Set<string>(expected)]);
    expect([query, (await client.workflow.count(query)).count]).toEqual([query, expected.length]);
  }
  for (const [workflowId, date] of Object.entries(dates)) {
    expect(await sent(client, workflowId)).toEqual([JSON.stringify(date), JSON.stringify(date)]);
  }
  await server.stop();
});

test('times that the server notes have no part of a millisecond: a filter with one finds what is above and below it', async () => {
  const { server, client } = await listedServer({ kind: 'embedded', filename: undefined, sqlitePragmas: [] });
  await start(client, 'wf', {});
  const { startTime } = await client.workflow.getHandle('wf').describe();
  const below = startTime.toISOString().replace('Z', '0005Z');
  const above = new Date(startTime.getTime() - 1).toISOString().replace('Z', '0005Z');
  const exact = startTime.toISOString();
  for (const name of ['StartTime', 'ExecutionTime']) {
    for (const [operand, operators] of [
      [exact, ['=', '<=', '>=']],
      [below, ['!=', '<', '<=']],
      [above, ['!=', '>', '>=']],
    ] as const) {
      for (const operator of ['=', '!=', '<', '<=', '>', '>='] as const) {
        const query = `${name} ${operator} '${operand}'`;
        expect([query, await idsOf(client, query)]).toEqual([query, operators.some((one) => one === operator) ? ['wf'] : []]);
      }
    }
  }
  await server.stop();
});

async function start(client: Client, workflowId: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  const payloads = Object.entries(attributes).map(([name, value]): [string, temporal.api.common.v1.IPayload] => [
    name,
    { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) },
  ]);
  await client.connection.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    workflowId,
    requestId: workflowId,
    workflowType: { name: 'T' },
    taskQueue: { name: 'q' },
    searchAttributes: { indexedFields: Object.fromEntries(payloads) },
  });
}

/** As List and as Describe say it. */
async function sent(client: Client, workflowId: string): Promise<readonly string[]> {
  const { connection, options } = client;
  const { namespace } = options;
  const list = await connection.workflowService.listWorkflowExecutions({ namespace, query: `WorkflowId = '${workflowId}'` });
  const described = await connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } });
  return [list.executions?.[0], described.workflowExecutionInfo].map((info) =>
    String(info?.searchAttributes?.indexedFields?.['Due']?.data),
  );
}
