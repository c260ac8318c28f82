import * as wf from '@temporalio/workflow';
import { finish, go } from './workflows.ts';

/** Workflows that are told things in every way at once: updates, signals, queries. */

export const say = wf.defineUpdate<string, [string]>('say');
export const sayAfterGo = wf.defineUpdate<string, [string]>('sayAfterGo');
export const sayAfterWork = wf.defineUpdate<string, [string]>('sayAfterWork');
export const sayOrGiveUp = wf.defineUpdate<string, [string, number]>('sayOrGiveUp');
export const sayLast = wf.defineUpdate<string, [string]>('sayLast');
export const stumble = wf.defineUpdate<string, []>('stumble');
export const askChild = wf.defineUpdate<string[], [string]>('askChild');
export const whoAmI = wf.defineUpdate<string, []>('whoAmI');
export const holdOn = wf.defineSignal('holdOn');
export const told = wf.defineQuery<string[]>('told');

/** Notes in order whatever it was told, until `finish`; handlers that are under way may end first. */
export async function talk(): Promise<string[]> {
  const notes: string[] = [];
  let goes = 0;
  let done = false;
  const note = (text: string): string => {
    notes.push(text);
    return `${notes.length}: ${text}`;
  };
  // A signal makes it known what an update may bring.
  const validator = (text: string): void => {
    if (text === 'secret' && goes === 0)
      throw wf.ApplicationFailure.create({ message: 'not before go', type: 'TooEarly', details: [text] });
  };
  wf.setHandler(told, () => notes);
  wf.setHandler(say, note, { validator });
  wf.setHandler(sayAfterGo, async (text) => {
    const before = goes;
    await wf.condition(() => goes > before);
    return note(text);
  });
  wf.setHandler(sayAfterWork, async (text) => {
    await wf.sleep(1);
    return note(await wf.scheduleActivity<string>('greet', [text], { startToCloseTimeout: '10s' }));
  });
  wf.setHandler(sayOrGiveUp, async (text, ms) => note((await wf.condition(() => goes > 0, ms)) ? text : `gave up ${text}`));
  wf.setHandler(sayLast, (text) => {
    done = true;
    return note(text);
  });
  wf.setHandler(stumble, () => {
    // At the first try the history ends with the workflow task that brought the update.
    if (wf.workflowInfo().historyLength <= 6) throw new Error('a bug in the handler');
    return note('got up');
  });
  wf.setHandler(askChild, async (workflowId) => {
    const child = await wf.startChild(talk, { workflowId });
    await child.signal(go, 'from the handler');
    await child.signal(finish);
    return child.result();
  });
  wf.setHandler(whoAmI, () => {
    const { id, name } = wf.currentUpdateInfo()!;
    return note(`${name} ${id}`);
  });
  wf.setHandler(holdOn, async () => {
    await wf.scheduleLocalActivity('waitAtGate', ['hold'], { startToCloseTimeout: '10s' });
    note('held');
  });
  wf.setHandler(go, (text) => {
    goes++;
    note(text);
  });
  wf.setHandler(finish, () => void (done = true));
  await wf.condition(() => done);
  await wf.condition(wf.allHandlersFinished);
  return notes;
}

/** Goes on as a new run when it is told to; updates that are under way are answered first. */
export async function talkOn(run: number): Promise<string> {
  let told = 0;
  let done = false;
  wf.setHandler(say, (text) => `${text} in run ${run}`);
  wf.setHandler(sayAfterGo, async (text) => {
    await wf.condition(() => told > 0);
    return `${text} in run ${run}`;
  });
  wf.setHandler(go, () => void told++);
  wf.setHandler(finish, () => void (done = true));
  await wf.condition(() => told > 0 || done);
  if (done) return `done in run ${run}`;
  await wf.condition(wf.allHandlersFinished);
  return wf.continueAsNew<typeof talkOn>(run + 1);
}

/** Is canceled, and takes updates while it cleans up. */
export async function talkToTheEnd(): Promise<string> {
  const notes: string[] = [];
  let done = false;
  wf.setHandler(say, (text) => {
    notes.push(text);
    return `${notes.length}: ${text}`;
  });
  wf.setHandler(told, () => notes);
  wf.setHandler(finish, () => void (done = true));
  try {
    await wf.condition(() => false);
  } catch {
    notes.push('canceled');
  }
  await wf.CancellationScope.nonCancellable(() => wf.condition(() => done));
  return notes.join(', ');
}
