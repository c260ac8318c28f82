/**
 * Temporal's own web UI beside a server: what a person reads on its pages, and what happens to a workflow when that person clicks.
 *
 * `PERDURE_SCREENSHOTS=1` writes the pictures of docs/web-ui.md again.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import { isWebUi } from '../../src/cli/server/is-web-ui.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { Browser } from './browser.ts';
import type { Page } from './browser.ts';
import { findChromium } from './find-chromium.ts';
import { openStage } from './stage.ts';
import type { Stage } from './stage.ts';
import { approve, chargeCard, greet, orderWithPendingParts, shipment } from './workflows.ts';

const run = promisify(execFile);
const goProgram = fileURLToPath(new URL('server', import.meta.url));
const cache = fileURLToPath(new URL('../../.cache', import.meta.url));
const images = fileURLToPath(new URL('../../docs/images', import.meta.url));
const webUi = join(cache, 'web-ui-server');

const chromium = await findChromium();
const withoutGo = spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0 ? undefined : 'no go on the path';
const missing = 'missing' in chromium ? chromium.missing : withoutGo;

if (missing !== undefined) skipAloud("Temporal's web UI", missing);
if (missing === undefined && 'program' in chromium) {
  const { program } = chromium;
  describe("Temporal's web UI", () => {
    pages(program);
  });
}

function pages(program: string): void {
  let stage: Stage;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    await mkdir(cache, { recursive: true });
    await run('go', ['build', '-o', webUi, '.'], { cwd: goProgram });
    stage = await openStage(webUi);
    browser = await Browser.start(program);
    page = await browser.open('about:blank');
  });

  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  /** With an activity and a child pending. */
  async function startOrder(workflowId: string): Promise<Started> {
    const { taskQueue } = stage;
    const handle = await stage.client.workflow.start(orderWithPendingParts, { taskQueue, workflowId });
    return { handle, path: `/namespaces/default/workflows/${workflowId}/${handle.firstExecutionRunId}` };
  }

  async function visit(path: string): Promise<void> {
    page.refusals.length = 0;
    await page.goto(`${stage.url}${path}`);
  }

  /** Workers say of themselves how they are once a minute, and the page shows that first; who polls is known at once. */
  async function showPollers(): Promise<void> {
    await page.click('button', 'Pollers 1');
    await page.shows(/Pollers[^]*warehouse-worker/);
  }

  test('a server knows it beside it', async () => {
    expect(await isWebUi(Number(new URL(stage.url).port), new AbortController().signal)).toBe(true);
  });

  test('the namespace page shows its settings', async () => {
    await visit('/namespaces');
    await page.shows(/1–1 of 1/);
    await page.click('link', 'default');
    await page.shows(/Retention Period\s+3 days/);
    await page.shows(/WorkflowType\s+Keyword/);
    expect(page.refusals).toEqual([]);
  });

  describe('the list of workflows', () => {
    const listed = 'WorkflowId STARTS_WITH "listed-"';

    beforeAll(async () => {
      const { taskQueue, client } = stage;
      await client.workflow.start(shipment, { taskQueue, workflowId: 'listed-shipment' });
      for (const name of ['Ada', 'Grace']) {
        await client.workflow.execute(greet, { taskQueue, workflowId: `listed-greeting-of-${name}`, args: [name] });
      }
      const charge = await client.workflow.start(chargeCard, { taskQueue, workflowId: 'listed-charge' });
      await expect(charge.result()).rejects.toThrow('Workflow execution failed');
    });

    test('counts by status, open ones before those that closed last', async () => {
      await visit(`/namespaces/default/workflows?query=${encodeURIComponent(listed)}`);
      await page.shows(/1 RUNNING\s+2 COMPLETED\s+1 FAILED/);
      await page.shows(
        /RUNNING\s+listed-shipment[^]+FAILED\s+listed-charge[^]+listed-greeting-of-Grace[^]+COMPLETED\s+listed-greeting-of-Ada/,
      );
      expect(page.refusals).toEqual([]);
      await keep('workflows', page);
    });

    test('is filtered by a status', async () => {
      const query = `ExecutionStatus="Failed" AND ${listed}`;
      await visit(`/namespaces/default/workflows?query=${encodeURIComponent(query)}`);
      await page.shows(/^(?![^]*listed-greeting)[^]*FAILED\s+listed-charge/);
    });

    test('is filtered by the view of running ones', async () => {
      await visit('/namespaces/default/workflows');
      await page.shows('listed-charge');
      await page.click('link', 'Running');
      await page.shows(/ExecutionStatus\s+=\s+Running/);
      await page.shows(/^(?![^]*listed-charge)[^]*RUNNING\s+listed-shipment/);
    });

    test('says what is wrong with a filter', async () => {
      await visit(`/namespaces/default/workflows?query=${encodeURIComponent('Colour="red"')}`);
      await page.shows('invalid search attribute: Colour');
    });

    test('leads to the page of a workflow', async () => {
      await visit(`/namespaces/default/workflows?query=${encodeURIComponent(listed)}`);
      await page.click('link', 'listed-charge');
      await page.shows('card was declined');
    });
  });

  describe("a running workflow's page", () => {
    let order: Started;

    beforeAll(async () => {
      order = await startOrder('order-4711');
    });

    test('its timeline has what is pending', async () => {
      await visit(`${order.path}/timeline`);
      await page.shows('reserveStock');
      await page.shows('shipment');
      await page.shows(/RUNNING\s+order-4711/);
      await keep('workflow', page);
    });

    test('its history', async () => {
      await visit(`${order.path}/history`);
      await page.shows('Child Workflow Execution Started');
      await page.shows(/Workflow Execution Started\s+Workflow Type Name\s+orderWithPendingParts/);
      await page.shows(/Pending Activity\s+ATTEMPT 1/);
      expect(page.refusals).toEqual([]);
    });

    test('its pending activity, with the heartbeat', async () => {
      await visit(`${order.path}/pending-activities`);
      await page.shows('"looking for SKU-7"');
      await page.shows(/STARTED\s+reserveStock/);
      await page.shows(/Last Worker Identity\s+warehouse-worker/);
    });

    test('its pending child', async () => {
      await visit(`${order.path}/relationships`);
      await page.shows(/RUNNING\s+shipment\s+order-4711-shipment/);
    });

    test('its call stack', async () => {
      await visit(`${order.path}/call-stack`);
      await page.shows(/at .*orderWithPendingParts|at .*web-ui\/workflows\.ts/);
    });

    test('a query that is asked on the page', async () => {
      await visit(`${order.path}/query`);
      await page.click('button', 'Run Query');
      await page.shows('waiting for approval');
    });

    test('its workers', async () => {
      await visit(`${order.path}/workers`);
      await showPollers();
    });
  });

  test('a failed workflow shows why', async () => {
    const handle = await stage.client.workflow.start(chargeCard, { taskQueue: stage.taskQueue, workflowId: 'charge-1' });
    await expect(handle.result()).rejects.toThrow('Workflow execution failed');
    await visit(`/namespaces/default/workflows/charge-1/${handle.firstExecutionRunId}/history`);
    await page.shows('card was declined');
    await page.shows(/FAILED\s+charge-1/);
  });

  test('a completed workflow shows its result', async () => {
    const handle = await stage.client.workflow.start(greet, { taskQueue: stage.taskQueue, workflowId: 'greeting-1', args: ['Ada'] });
    await handle.result();
    await visit(`/namespaces/default/workflows/greeting-1/${handle.firstExecutionRunId}/history`);
    await page.shows('"Hello, Ada!"');
    await page.shows(/COMPLETED\s+greeting-1/);
  });

  test('a signal is sent from the page', async () => {
    const { handle, path } = await startOrder('order-signalled');
    await visit(`${path}/history`);
    await page.shows('Child Workflow Execution Started');
    await page.click('button', 'More Actions');
    await page.click('menuitem', 'Send a Signal');
    await page.click('button', 'Select a signal');
    await page.click('option', approve.name);
    await page.fill('textbox', 'Data', '"Grace"');
    await page.click('button', 'Submit');
    await page.shows('Workflow Execution Signaled');
    expect(await handle.query('progress')).toBe('approved by Grace');
  });

  test('a cancellation is requested from the page', async () => {
    const { handle, path } = await startOrder('order-cancelled');
    await visit(`${path}/history`);
    await page.shows('Child Workflow Execution Started');
    await page.click('button', 'More Actions');
    await page.click('menuitem', 'Request Cancellation');
    await page.click('button', 'Confirm');
    await page.shows(/CANCELED\s+order-cancelled/);
    expect((await handle.describe()).status.name).toBe('CANCELLED');
  });

  test('a workflow is terminated from the page', async () => {
    const { handle, path } = await startOrder('order-terminated');
    await visit(`${path}/history`);
    await page.shows('Child Workflow Execution Started');
    await page.click('button', 'More Actions');
    await page.click('menuitem', 'Terminate');
    await page.fill('textbox', 'Enter a reason', 'duplicate order');
    await page.click('button', 'Terminate');
    await page.shows(/TERMINATED\s+order-terminated/);
    await page.shows('"reason": "duplicate order"');
    expect((await handle.describe()).status.name).toBe('TERMINATED');
  });

  // No page of this version deletes one: it is deleted elsewhere while somebody looks.
  test('a workflow that is deleted is on no page any more', async () => {
    const { handle, path } = await startOrder('order-deleted');
    const list = `/namespaces/default/workflows?query=${encodeURIComponent('WorkflowId = "order-deleted"')}`;
    await visit(list);
    await page.shows(/RUNNING\s+order-deleted/);
    const workflowExecution = { workflowId: handle.workflowId };
    await stage.client.workflow.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
    await visit(list);
    await page.shows(/^(?![^]*RUNNING)[^]*No Workflows/);
    await visit(`${path}/history`);
    await page.shows(/not found/i);
    // Its child ends by its parent close policy.
    await visit(`/namespaces/default/workflows?query=${encodeURIComponent('WorkflowId = "order-deleted-shipment"')}`);
    await page.shows(/TERMINATED\s+order-deleted-shipment/);
  });

  test('the task queue page shows who polls', async () => {
    await visit(`/namespaces/default/task-queues/${stage.taskQueue}`);
    await showPollers();
    expect(page.refusals).toEqual([]);
  });
}

type Started = { readonly handle: WorkflowHandle<typeof orderWithPendingParts>; readonly path: string };

async function keep(name: string, page: Page): Promise<void> {
  if (process.env['PERDURE_SCREENSHOTS'] !== '1') return;
  await mkdir(images, { recursive: true });
  await writeFile(join(images, `web-ui-${name}.png`), await page.screenshot());
}
