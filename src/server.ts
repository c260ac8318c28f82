/**
 * What the command line knows of the server.
 *
 * A log takes a thread or a network to open, and the other parts take as long to load: here both go on at the same time, so this file imports
 * nothing that is not needed to open the log. The parts are put together in composition.ts.
 */
import type { LogOptions, RunningServer, ServerOptions, Tried } from './config/server-options.ts';
import { logOpener, type Layout } from './start/open-log.ts';
import { checkNobodys, isStateAlone, type OpenState, openState } from './start/open-state.ts';

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const fatal = onceFatal(options);
  if (asksForMore(options)) await (await import('./composition.ts')).checkSetUp(options);
  let openingState: Promise<OpenState | undefined> | undefined;
  const state = (): Promise<OpenState | undefined> => (openingState ??= openState(options));
  const checkState = async (logName: string): Promise<void> => {
    const found = await state();
    if (found !== undefined) await checkNobodys(found, logName);
  };
  try {
    const open = await logOpener({ ...options, beforeMakingTopics: checkState }, fatal);
    if (isStateAlone(options.log)) await checkState(options.log.filename);
    const opening = open();
    const [openLog, openedState, { compose }] = await Promise.all([opening, state(), import('./composition.ts')]);
    return await compose(options, { log: openLog, state: openedState }, fatal);
  } catch (error) {
    // Its thread would keep the process alive.
    await (await openingState)?.database.close();
    throw error;
  }
}

/** Than every server has: whether a cluster can be set up so is looked at before anything is made. */
function asksForMore({ searchAttributes, namespaces }: ServerOptions): boolean {
  return searchAttributes.size > 0 || namespaces.some((name) => name !== 'default');
}

/** What a start would find on the brokers and in the database, and what it would refuse; changes nothing there. */
export async function tryStart(log: LogOptions & { readonly kind: 'kafka' }, layout: Layout): Promise<readonly Tried[]> {
  const composition = await import('./composition.ts');
  return await composition.tryStart(log, layout);
}

function onceFatal(options: ServerOptions): (error: Error) => void {
  let told = false;
  return (error) => {
    if (told) return;
    told = true;
    options.onFatal(error);
  };
}
