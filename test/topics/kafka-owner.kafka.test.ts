/** An owner on a real broker while people and networks do what they do: memory stays, and nothing is lost or counted twice. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, logLevel, ResourcePatternTypes } from 'kafkajs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PartitionLoop } from '../../src/actors/partition/partition-loop.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { jsonClaims, LedgerCore, ledgerCodec, ledgerMemory, ledgerScale, ledgerSwitchboard } from '../actors/ledger.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { freePorts } from '../kafka/local-broker.ts';
import { FaultyProxy } from '../kafka/proxy.ts';
import type { AclEntry, Admin } from 'kafkajs';
import { ownWork, type AskFailure } from '../../src/actors/asks/asks.ts';
import type { Log } from '../../src/ports/log.ts';
import type { LedgerCommand, LedgerEffect, LedgerRecord, LedgerReply } from '../actors/ledger.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';

/** One owner of one partition, and a client that adds entries, one after another, each until it is told that it is there. */
class Owner {
  readonly topic = `test.${randomUUID()}`;
  readonly router = ledgerSwitchboard(systemClock);
  readonly lines: string[] = [];
  readonly cores: LedgerCore[] = [];
  readonly acknowledged: string[] = [];
  log!: Log;
  loop!: PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;
  #adding: Promise<void> | undefined;
  #stopAdding = false;
  #gone = false;

  async start(port: number): Promise<this> {
    const logger = createLogger({ level: 'info', format: 'text', write: (line) => void this.lines.push(line), nowMs: Date.now });
    this.log = await openKafkaLog({
      kafka: {
        brokers: [`127.0.0.1:${port}`],
        topicPrefix: 'test',
        replicationFactor: 1,
        tls: undefined,
        sasl: undefined,
        autoCreateTopics: true,
      },
      topics: [{ name: this.topic, partitions: 1, purpose: 'a test' }],
      logger,
      requestTimeoutMs: 1_000,
    });
    const sink = this.router.sink(0);
    this.loop = new PartitionLoop({
      partition: { topic: this.topic, partition: 0 },
      log: this.log,
      scale: ledgerScale,
      codec: ledgerCodec,
      claims: jsonClaims,
      owner: 'owner',
      create: () => {
        const core = new LedgerCore();
        this.cores.push(core);
        return ledgerMemory(
          (askId, reply) => sink.answer(askId, reply),
          () => {},
          core,
        );
      },
      asks: sink,
      clock: systemClock,
      random: systemRandom,
      logger,
    });
    this.router.attach(0, this.loop);
    this.loop.start();
    while (this.loop.status().state !== 'active') await pause(5);
    return this;
  }

  ask(command: LedgerCommand): Promise<LedgerReply | AskFailure> {
    const deadlineMs = systemClock.monoMs() + 30_000;
    return new Promise((resolve) => this.router.ask(0, command, ownWork(deadlineMs), resolve));
  }

  add(size: number): void {
    this.#stopAdding = false;
    this.#adding = this.#addAll(size);
  }

  async #addAll(size: number): Promise<void> {
    while (!this.#stopAdding) {
      const id = `e${this.acknowledged.length}`;
      let answer = await this.ask({ kind: 'add', id, size });
      while (answer.kind !== 'added') {
        if (this.#gone) return;
        await pause(20);
        answer = await this.ask({ kind: 'add', id, size });
      }
      expect(answer.place).toBe(this.acknowledged.length);
      this.acknowledged.push(id);
    }
  }

  async added(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    while (this.acknowledged.length < wanted) {
      this.expectAlive();
      await pause(5);
    }
  }

  expectAlive(): void {
    const { state, reason } = this.loop.status();
    expect(['failed', 'unassigned'], reason).not.toContain(state);
  }

  async stopAdding(): Promise<void> {
    this.#stopAdding = true;
    await this.#adding;
  }

  async said(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.lines.find((each) => pattern.test(each));
      if (line !== undefined) return line;
      this.expectAlive();
      await pause(20);
    }
  }

  /** Memory was never dropped, and another owner folds what was acknowledged. */
  async check(): Promise<void> {
    await this.stopAdding();
    expect(this.loop.status()).toMatchObject({ state: 'active', refolds: 0 });
    expect(this.cores).toHaveLength(1);
    expect(this.cores[0]?.entries).toEqual(this.acknowledged);
    this.loop.close();
    this.loop.start();
    while (this.loop.status().state !== 'active') await pause(5);
    expect(this.cores[1]?.entries).toEqual(this.acknowledged);
  }

  async stop(): Promise<void> {
    this.#stopAdding = true;
    this.#gone = true;
    this.loop.close();
    this.router.close();
    await this.log.close();
  }
}

describe.skipIf(!(await canStartLocalKafka('an owner on Kafka')))('an owner on Kafka', () => {
  let proxy: FaultyProxy;
  let broker: LocalBroker;
  let admin: Admin;
  const owners: Owner[] = [];

  beforeAll(async () => {
    const [port = 0, controller = 0] = await freePorts(2);
    proxy = await FaultyProxy.start(() => port);
    const settings = {
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${proxy.port}`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
      'log.cleaner.backoff.ms': '100',
    };
    broker = await startLocalKafka({ ports: [port, controller], settings });
    admin = new Kafka({ brokers: [`127.0.0.1:${proxy.port}`], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  afterEach(async () => {
    proxy.resetShare = 0;
    for (const owner of owners.splice(0)) await owner.stop();
  });
  afterAll(async () => {
    await admin?.disconnect();
    await proxy?.close();
    await broker?.stop();
  });

  async function own(): Promise<Owner> {
    const owner = new Owner();
    owners.push(owner);
    return await owner.start(proxy.port);
  }

  test('one in a hundred requests resets its connection: doubt is settled again and again, memory stays', async () => {
    const owner = await own();
    owner.add(100);
    proxy.resetShare = 0.01;
    const before = proxy.resets;
    while (proxy.resets < before + 40) await pause(20);
    proxy.resetShare = 0;
    await owner.added(10);
    expect(owner.loop.status().epoch).toBeGreaterThan(5);
    await owner.check();
  }, 120_000);

  test('max.message.bytes is lowered for a while: what is refused waits and goes again', async () => {
    const owner = await own();
    owner.add(20_000);
    await owner.added(10);
    const set = (value: string): Promise<unknown> =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: 2, name: owner.topic, configEntries: [{ name: 'max.message.bytes', value }] }],
      });
    await set('10000');
    await owner.said(/MESSAGE_TOO_LARGE/);
    const { epoch } = owner.loop.status();
    await set('8388608');
    await owner.added(10);
    expect(owner.loop.status().epoch).toBe(epoch);
    await owner.check();
  }, 60_000);

  test.each([
    ['write', [AclOperationTypes.WRITE]],
    ['do anything', [AclOperationTypes.ALL]],
  ])(
    'the right to %s is missing for a while: it is said, and then all goes on',
    async (_, operations) => {
      const owner = await own();
      owner.add(10);
      await owner.added(10);
      const acl = operations.map((operation): AclEntry => ({
        resourceType: AclResourceTypes.TOPIC,
        resourceName: owner.topic,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: 'User:ANONYMOUS',
        host: '*',
        operation,
        permissionType: AclPermissionTypes.DENY,
      }));
      await admin.createAcls({ acl });
      await owner.said(/TOPIC_AUTHORIZATION_FAILED/);
      // It has lasted long enough that callers are told, after several tries of everything.
      expect((await owner.ask({ kind: 'read' })).kind).toBe('unavailable');
      expect(owner.loop.status().state).not.toBe('failed');
      await admin.deleteAcls({ filters: acl });
      await owner.added(10);
      await owner.check();
    },
    120_000,
  );

  test('the topic was compacted for a while: the journal is damaged, and nobody serves from what is left', async () => {
    const owner = await own();
    const at = { topic: owner.topic, partition: 0 };
    owner.add(10);
    const set = (settings: Readonly<Record<string, string>>): Promise<unknown> => {
      const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
      return admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: owner.topic, configEntries }] });
    };
    await set({ 'cleanup.policy': 'compact', 'segment.ms': '50', 'min.cleanable.dirty.ratio': '0.001' });
    // A later claim replaces the first, as compaction sees it.
    owner.loop.close();
    owner.loop.start();
    const holes = async (): Promise<boolean> => {
      const records = await owner.log.read(at, 0, 1_000_000);
      return records.some(({ offset }, index) => offset !== index);
    };
    while (!(await holes())) await pause(100);
    await owner.stopAdding();
    await set({ 'cleanup.policy': 'delete', 'segment.ms': '604800000' });
    owner.loop.close();
    owner.loop.start();
    while (!['active', 'failed'].includes(owner.loop.status().state)) await pause(5);
    expect(owner.loop.status().state).toBe('failed');
    expect(owner.loop.status().reason).toMatch(/test\.\S+\/0 is damaged: offsets? 0 .*cleanup\.policy=compact/);
    expect((await owner.ask({ kind: 'read' })).kind).toBe('notHere');
  }, 90_000);

  test('a stranger writes into the journal, compressed and not, and claims it with garbage', async () => {
    const owner = await own();
    owner.add(10);
    await owner.added(3);
    const producer = new Kafka({ brokers: [`127.0.0.1:${proxy.port}`], logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    const headers = (epoch: string): Record<string, string> => ({ 'perdure.schema': '1', 'perdure.epoch': epoch, 'perdure.sequence': '0' });
    const messages = [
      { key: 'hello', value: 'world' },
      { key: '@claim', value: 'garbage', headers: headers('2') },
      { key: '@claim', value: '{"ownerNonce":"n","owner":"nobody"}', headers: headers(String(2 ** 53 - 1)) },
    ];
    await producer.send({ topic: owner.topic, messages });
    await producer.send({ topic: owner.topic, messages, compression: 1 });
    await producer.disconnect();
    await owner.added(3);
    await owner.check();
    expect(owner.loop.status().foreignRecords).toBe(6);
    await owner.said(/a record that Perdure did not write/);
  }, 60_000);
});
