/**
 * Checkpoints of which each replaces, deletes and adds: what stands in the tables names the one generation that they are of, or they were torn.
 */
import type { Database, HistoryDelta, JournalId } from '../../../src/projections/database-port.ts';
import { bytesOf, emptyDelta, historyRow, runRow, taskRow, timerRow, visibilityRow } from '../../contract/database/samples.ts';

export const journalUnderTest: JournalId = { kind: 'history', partition: 3 };

const runCount = 400;
const namespaceId = '11111111-0000-4000-8000-000000000000';
const id = (serial: number): string => `00000000-0000-7000-8000-${String(serial).padStart(12, '0')}`;

/** Some chunks long. */
export function deltaAt(generation: number): HistoryDelta {
  const runs = Array.from({ length: runCount }, (_, i) =>
    runRow({ namespaceId, runId: id(i), status: generation, state: bytesOf(`${generation}`) }),
  );
  return {
    ...emptyDelta,
    runs,
    currentRuns: [runRow({ namespaceId, workflowId: 'w', runId: id(generation) })],
    history: runs.slice(0, 50).map(({ runId }) => historyRow(runId, generation, generation)),
    transferTasks: [taskRow(generation)],
    timers: [timerRow(generation, generation)],
    goneTransferTasks: [generation - 1],
    goneTimers: [generation - 1],
    visibility: runs
      .slice(0, 50)
      .map(({ runId, workflowId }) =>
        visibilityRow({ namespaceId, runId, workflowId, version: generation, slots: new Map([['KeywordList01', [`g${generation}`]]]) }),
      ),
  };
}

/** The generations that the tables show, each once; those of the position and of every table are one and the same. */
export async function generationsIn(database: Database): Promise<readonly (number | undefined)[]> {
  const { position } = await database.position(journalUnderTest);
  const { rows: runs } = await database.runs(journalUnderTest, '', 10_000, Infinity);
  const { rows: tasks } = await database.transferTasks(journalUnderTest, -1, 10);
  const { rows: timers } = await database.timers(journalUnderTest, { afterFireTimeMs: -1, afterTaskId: -1, untilMs: 2 ** 50, max: 10 });
  const { rows: current } = await database.load(journalUnderTest, [{ kind: 'current', namespaceId, workflowId: 'w' }]);
  const range = { runId: id(0), branch: 0, firstEventId: 1, lastEventId: 2 ** 50, bytesMax: 2 ** 30 };
  const history = await database.history(journalUnderTest, range);
  const generation = position?.nextOffset ?? 0;
  const column = { name: 'KeywordList01', kind: 'keywordList' } as const;
  const listed = await database.list({
    namespaceId,
    condition: { kind: 'compare', column, operator: '=', operand: `g${generation}` },
    after: undefined,
    max: 100,
  });
  return [
    ...new Set([
      generation,
      ...(runs.length === runCount ? [] : [undefined]),
      ...runs.map(({ status }) => status),
      ...runs.map(({ state }) => Number(Buffer.from(state).toString())),
      ...tasks.map(({ taskId }) => taskId),
      ...timers.map(({ taskId }) => taskId),
      Number(current[0]?.currentRunId?.slice(-12)),
      history.length,
      history.at(-1)?.lastEventId,
      ...(listed.rows.length === 50 ? [] : [undefined]),
    ]),
  ];
}
