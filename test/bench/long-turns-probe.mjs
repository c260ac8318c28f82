/**
 * Preloaded into a Node server under measurement: what its event loop did in each turn that took more than BENCH_LONG_TURN_MS (default 10) of
 * the processor. The wall clock says little on a machine that others use too: a turn that waits for a processor is long for no fault of ours.
 *
 *     NODE_OPTIONS=--import=…/long-turns-probe.mjs BENCH_LONG_TURNS=turns.txt bin/perdure server start-dev
 *
 *     2026-11-22T18:01:53.876Z 281.1 ms, 29.5 on a processor, 250.2 waiting for one, gc scavenge 7.4
 *       from  77% processTicksAndRejections node:internal/process/task_queues:72 | 12% onStreamRead …      what began it
 *       self  8% copyOf src/wire/copy-of.ts:5 | …                                                           where it was
 *       ours  31% #decide src/actors/partition/partition-loop.ts:226 | …                                    what of ours was on the stack
 *
 * Of Linux alone (schedstat). The profiler is in the figures, and every few seconds its own turn, which is left out.
 */
import { appendFileSync, openSync, readSync } from 'node:fs';
import { Session } from 'node:inspector';
import { PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const file = process.env.BENCH_LONG_TURNS;
const longMs = Number(process.env.BENCH_LONG_TURN_MS ?? 10);
const samplingUs = 500;
const roundMs = 4_000;
const gcKinds = { 1: 'scavenge', 2: 'minor', 4: 'mark-compact', 8: 'incremental', 16: 'weak' };

if (isMainThread && file !== undefined) watch();

function watch() {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: samplingUs });
  session.post('Profiler.start');
  let turns = [];
  let collections = [];
  let isOwn = true;
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({ entryTypes: ['gc'] });
  const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  let last = now(schedstat);
  setInterval(() => {
    const end = now(schedstat);
    if (end.processorMs - last.processorMs > longMs && !isOwn) turns.push({ begin: last, end });
    isOwn = false;
    last = end;
  }, 1).unref();
  setInterval(() => {
    session.post('Profiler.stop', (error, result) => {
      if (error === null && turns.length > 0) appendFileSync(file, told(turns, collections, result.profile));
    });
    session.post('Profiler.start');
    turns = [];
    collections = [];
    isOwn = true;
  }, roundMs).unref();
}

/** The kernel's clock is the profiler's as well. */
function now(schedstat) {
  const text = Buffer.alloc(64);
  const [processorNs, waitingNs] = text.toString('latin1', 0, readSync(schedstat, text, 0, text.length, 0)).split(' ');
  return {
    wallMs: Date.now(),
    us: Number(process.hrtime.bigint() / 1_000n),
    performanceMs: performance.now(),
    processorMs: Number(processorNs) / 1e6,
    waitingMs: Number(waitingNs) / 1e6,
  };
}

function told(turns, collections, { nodes, samples, timeDeltas, startTime }) {
  const byId = new Map(nodes.map((node) => [node.id, { name: nameOf(node.callFrame), parent: undefined }]));
  for (const { id, children = [] } of nodes) for (const child of children) byId.get(child).parent = byId.get(id);
  let us = startTime;
  const sampled = samples.map((id, index) => ({ us: (us += timeDeltas[index]), frame: byId.get(id) }));
  let text = '';
  for (const { begin, end } of turns) {
    const stacks = sampled.filter((each) => each.us > begin.us && each.us <= end.us).map(({ frame }) => stackOf(frame));
    const gcs = collections.filter(({ startTime: ms, duration }) => ms + duration > begin.performanceMs && ms < end.performanceMs);
    const figures = [end.performanceMs - begin.performanceMs, end.processorMs - begin.processorMs, end.waitingMs - begin.waitingMs];
    const [ms, processorMs, waitingMs] = figures.map((figure) => figure.toFixed(1));
    const gc = gcs.map(({ duration, detail }) => ` ${gcKinds[detail.kind]} ${duration.toFixed(1)}`).join('');
    text += `${new Date(end.wallMs).toISOString()} ${ms} ms, ${processorMs} on a processor, ${waitingMs} waiting for one, gc${gc}\n`;
    text += `  from  ${shares(stacks.map((stack) => [stack.at(-2) ?? stack[0]]))}\n`;
    text += `  self  ${shares(stacks.map((stack) => [stack[0]]))}\n`;
    text += `  ours  ${shares(stacks.map((stack) => new Set(stack.filter((name) => / (src|program)\//.test(name)))))}\n`;
  }
  return text;
}

function stackOf(frame) {
  const stack = [];
  for (let each = frame; each !== undefined; each = each.parent) stack.push(each.name);
  return stack;
}

function shares(namesOfSamples) {
  const counts = new Map();
  for (const names of namesOfSamples) for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, 12);
  return most.map(([name, count]) => `${Math.round((100 * count) / namesOfSamples.length)}% ${name}`).join(' | ');
}

function nameOf({ functionName, url, lineNumber }) {
  return `${functionName || '(anonymous)'} ${url.replace(/^.*\/(src|node_modules|program)\//, '$1/')}:${lineNumber + 1}`;
}
