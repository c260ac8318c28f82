/**
 * `node test/peers/codec-cost.ts`: what asks cost as bytes, CPU microseconds for an ask and its answer at both ends. The asks are those of
 * real workflows with one activity each. Not a test: a figure to look at.
 */
import { Router } from '../../src/actors/asks/router.ts';
import { historyAsks } from '../../src/peers/codec/history-codec.ts';
import { matchingAsks } from '../../src/peers/codec/matching-codec.ts';
import type { UnionCodec } from '../../src/peers/codec/union-codec.ts';
import { RawDriver } from '../bench/raw-driver.ts';
import { memoryServer } from '../support/memory-server.ts';

type Kinded = { readonly kind: string };

type Asks<Request extends Kinded, Answer extends Kinded> = {
  readonly requests: UnionCodec<Request>;
  readonly answers: UnionCodec<Answer>;
};

type Exchange = { readonly name: string; readonly bytes: number; readonly carry: () => void };

function exchange<Request extends Kinded, Answer extends Kinded>(asks: Asks<Request, Answer>, request: Request, answer: Answer): Exchange {
  return {
    name: `${request.kind} → ${answer.kind}`,
    bytes: asks.requests.encode(request, 0).length + asks.answers.encode(answer).length,
    carry: () => {
      asks.requests.decode(asks.requests.encode(request, 0), 0);
      asks.answers.decode(asks.answers.encode(answer));
    },
  };
}

const workflows = 200;
const rounds = 60;
const exchanges = await exchangesOfWorkflows();
for (let warmUp = 0; warmUp < 10; warmUp++) costUs(exchanges);

const rows = [...Map.groupBy(exchanges, ({ name }) => name)].map(([name, same]) => ({
  'ask → answer': name,
  'per workflow': same.length / workflows,
  bytes: Math.round(same.reduce((sum, { bytes }) => sum + bytes, 0) / same.length),
  µs: costUs(same).toFixed(1),
}));
console.table(rows);
const us = costUs(exchanges);
const asks = exchanges.length / workflows;
console.log(`${asks.toFixed(1)} asks per workflow, ${us.toFixed(1)} µs each, ${(us * asks).toFixed(0)} µs per workflow`);

/** Of one of them, on average. */
function costUs(which: readonly Exchange[]): number {
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) for (const { carry } of which) carry();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (rounds * which.length);
}

async function exchangesOfWorkflows(): Promise<readonly Exchange[]> {
  const recorded: Exchange[] = [];
  recordAsks(recorded);
  const server = await memoryServer();
  const driver = await RawDriver.open({ name: 'memory', address: server.address, namespace: 'default', pids: [] });
  await driver.runOne();
  recorded.length = 0;
  for (let done = 0; done < workflows; done++) await driver.runOne();
  const taken = [...recorded];
  await driver.close();
  await server.stop();
  return taken;
}

/** Whatever routers are asked from now on, once it is answered. */
function recordAsks(into: Exchange[]): void {
  Router.prototype.askHistory = function (shard, request, context, onReply) {
    return this.history.ask(shard, request, context, (answer) => {
      into.push(exchange(historyAsks, request, answer));
      onReply(answer);
    });
  };
  Router.prototype.askMatching = function (partition, request, context, onReply) {
    return this.matching.ask(partition, request, context, (answer) => {
      into.push(exchange(matchingAsks, request, answer));
      onReply(answer);
    });
  };
}
