/** Request number n of a seed: the same method, shape and extremes each time; the ids and tokens in it are those of the moment. */
import type { Type } from 'protobufjs';
import { Prng } from '../simulation/prng.ts';
import { encodeMessage, messageType, type Rpc } from './descriptors.ts';
import { damaged, Mutator, type Names, type Plain, sparing } from './mutate.ts';
import { templates } from './templates.ts';
import { fuzzedNamespace, type World } from './world.ts';

export type FuzzedRequest = {
  readonly number: number;
  readonly rpc: Rpc;
  readonly body: Uint8Array;
  /** What was encoded, before any damage to its bytes. */
  readonly message: Plain;
  readonly gzip: boolean;
};

/** Of 1 for a method that is not named. Those that change the most get the most; polls and queries wait. */
const weights: Readonly<Record<string, number>> = {
  RespondWorkflowTaskCompleted: 20,
  StartWorkflowExecution: 6,
  SignalWithStartWorkflowExecution: 4,
  SignalWorkflowExecution: 3,
  RespondActivityTaskFailed: 3,
  RespondActivityTaskCompleted: 2,
  RecordActivityTaskHeartbeat: 2,
  RespondWorkflowTaskFailed: 2,
  PollWorkflowTaskQueue: 0.5,
  PollActivityTaskQueue: 0.7,
  QueryWorkflow: 1,
  PollWorkflowExecutionUpdate: 0.5,
  ExecuteMultiOperation: 0.5,
};

/** Four times what a server takes. */
const bytesMax = 16 * 1024 * 1024;

const commandType = messageType('temporal.api.command.v1.Command');
const worldSeed = 0x77_6f_72_6c;

export function fuzzedRequest(seed: number, number: number, rpcs: readonly Rpc[], world: World): FuzzedRequest {
  const prng = new Prng(number * 2 ** 32 + seed);
  world.draws = new Prng(number * 2 ** 32 + ((seed ^ worldSeed) >>> 0));
  const rpc = weighted(rpcs, prng);
  const mutator = new Mutator(prng, sparing(rpc.method, namesIn(world)));
  const how = prng.fraction();
  const template = templates[rpc.method];
  let message = how < 0.12 || template === undefined ? mutator.anyMessage(rpc.requestType) : template(prng, world);
  if (how >= 0.35) for (let count = prng.pick([1, 1, 1, 2, 3]); count > 0; count--) mutateSomewhere(rpc, message, mutator, prng);
  // 1,001 elements, each with 1,001, of 20,000 characters: gigabytes for whoever sends them, and refused by their length alone.
  if (isHeavier(message, bytesMax)) message = mutator.anyMessage(rpc.requestType);
  const bytes = encodeMessage(rpc.requestType, message);
  return { number, rpc, message, body: how >= 0.9 ? damaged(bytes, prng) : bytes, gzip: prng.chance(0.03) };
}

/** Elements may be one and the same object, so its size in memory says nothing. */
function isHeavier(message: Plain, max: number): boolean {
  let bytes = 0;
  const add = (value: unknown): boolean => {
    bytes += typeof value === 'string' ? value.length + 2 : ArrayBuffer.isView(value) ? value.byteLength + 2 : 2;
    if (bytes > max) return false;
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true;
    return (Array.isArray(value) ? value : Object.values(value)).every(add);
  };
  return !add(message);
}

/** Bytes for a method of that type, of which some are not even a message. Without a world: nothing that it names has to exist. */
export function anyBody(type: Type, prng: Prng, names: Names): Uint8Array {
  const bytes = encodeMessage(type, new Mutator(prng, names).anyMessage(type));
  return prng.chance(0.55) ? bytes : damaged(bytes, prng);
}

/** In a completion mostly a command: that is where most of what a worker may say stands. */
function mutateSomewhere(rpc: Rpc, message: Plain, mutator: Mutator, prng: Prng): void {
  const commands = message['commands'];
  if (Array.isArray(commands) && commands.length > 0 && prng.chance(0.7)) mutator.mutate(commandType, prng.pick(commands) as Plain);
  else mutator.mutate(rpc.requestType, message);
}

function namesIn(world: World): Names {
  return (field) => {
    if (field === 'namespace') return fuzzedNamespace;
    if (field === 'workflowId') return world.workflowId();
    if (field === 'runId') return world.execution().runId;
    return undefined;
  };
}

function weighted(rpcs: readonly Rpc[], prng: Prng): Rpc {
  const weightOf = ({ method }: Rpc): number => weights[method] ?? 1;
  let rest = prng.fraction() * rpcs.reduce((sum, rpc) => sum + weightOf(rpc), 0);
  return rpcs.find((rpc) => (rest -= weightOf(rpc)) < 0) ?? prng.pick(rpcs);
}
