import type { ArchivalOptions } from './archival.ts';
import type { DevFault } from './dev-faults.ts';
import type { Logger } from '../observability/logger.ts';
import type { DynamicEntries } from './dynamic-config.ts';
import type { KafkaOptions } from './kafka-options.ts';
import type { MetricsOptions } from './metrics-options.ts';
import type { PostgresOptions } from './postgres-options.ts';
import type { PortRole, RolePort } from './role-ports.ts';

export type LogOptions =
  | {
      readonly kind: 'embedded';
      /** Undefined: in memory, gone with the process. */
      readonly filename: string | undefined;
      readonly sqlitePragmas: readonly (readonly [name: string, value: string])[];
    }
  | {
      readonly kind: 'kafka';
      readonly kafka: KafkaOptions;
      /** undefined: in memory; the topics are never trimmed. */
      readonly state?: StateOptions | undefined;
    };

/** Where what journals on Kafka add up to is kept. */
export type StateOptions = {
  readonly postgres: PostgresOptions;
  /** Journals keep what is younger: how old a copy of the database may be that is restored. */
  readonly journalRetentionMs: number;
  /** Nor more than so much of each, roughly. */
  readonly journalRetentionBytes: number | undefined;
};

export type ServerOptions = {
  /** The frontend's listener; `port` 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** Where roles listen beside the frontend; absent: nowhere. */
  readonly rolePorts?: Readonly<Partial<Record<PortRole, RolePort>>>;
  readonly log: LogOptions;
  /** Fixed for ever at the first start of a log. */
  readonly historyShards: number;
  readonly matchingPartitions: number;
  readonly taskQueuePartitions: number;
  /** Exist before the port answers. */
  readonly namespaces: readonly string[];
  /** Name → type (`Keyword`, `Text`, …), usable at once in every namespace. */
  readonly searchAttributes: ReadonlyMap<string, string>;
  /** Values as parsed from JSON or YAML, for all that they may be for; a key that is not known means nothing (dynamic-settings.ts). */
  readonly dynamicConfig: ReadonlyMap<string, unknown>;
  /** Has values that hold before those of `dynamicConfig`, and may change while the server serves. */
  readonly dynamicConfigFile?: DynamicConfigFileOptions | undefined;
  /** What tasks meet because somebody wants it; absent: nothing. */
  readonly devFaults?: readonly DevFault[] | undefined;
  readonly clusterName: string;
  /** undefined: no history is archived. */
  readonly archival?: ArchivalOptions | undefined;
  /** Where metrics can be scraped; undefined: nowhere, and none are kept. */
  readonly metrics?: MetricsOptions | undefined;
  /** How often the topics on Kafka are compared with what they should be; a minute unless a test is in a hurry. */
  readonly topicWatchIntervalMs?: number;
  /** What is left out is what fits into the memory that there is (memory.ts). */
  readonly stateLimits?: Partial<StateLimits>;
  /** How full the heap of the event loop is; absent: nobody watches it. */
  readonly heap?: HeapCondition;
  readonly logger: Logger;
  /** A start in which nothing moves for so long fails; from half of it on it goes on without partitions that wait, if it can. */
  readonly startMsMax: number;
  /** A start has come a step further: called about once a second while journals are read. */
  readonly onProgress?: () => void;
  /** The server serves no more: it failed, or AnotherServerError. The caller says so and exits. */
  readonly onFatal: (error: Error) => void;
};

export type DynamicConfigFileOptions = {
  readonly filename: string;
  readonly pollIntervalMs: number;
  /** What was in it when the configuration was loaded. */
  readonly text: string;
  readonly entries: DynamicEntries;
};

export interface HeapCondition {
  /** So much of the heap is in use that V8 may end the process; undefined: there is room. */
  readonly nearlyFull: { readonly usedMiB: number; readonly limitMiB: number } | undefined;
}

export type StateLimits = {
  /** Workflows in memory, of all shards: what is past it leaves memory for the database, which has it. */
  readonly hotStateBytesMax: number;
  /** Histories in memory, all shards together. */
  readonly historyCacheBytesMax: number;
  /** What is in memory because the database has not taken it: beyond, no workflow is started. */
  readonly unwrittenStateBytesMax: number;
  /** Records of one journal between two checkpoints. */
  readonly checkpointRecordsMax: number;
};

export type RunningServer = {
  readonly address: string;
  readonly port: number;
  readonly metricsPort?: number | undefined;
  /** Where the roles are served that have a port of their own. */
  readonly rolePorts: Readonly<Partial<Record<PortRole, number | undefined>>>;
  readonly started: StartSummary;
  /** Drains and closes everything; idempotent. */
  stop(): Promise<void>;
};

export type StartSummary = {
  /** `kafka <brokers>`, a file name, or `memory`. */
  readonly log: string;
  /** '' where there are no topics. */
  readonly topicPrefix: string;
  readonly historyShards: number;
  readonly records: number;
  readonly bytes: number;
};

/** One thing that a start needs and that was tried: a broker, the topics, a database. `subject`: '' where the message names it. */
export type Tried = { readonly subject: string; readonly ok: boolean; readonly message: string };

export type PostgresProbe =
  | {
      readonly database: string;
      readonly answer: 'ok';
      readonly tables: 'none' | 'older' | 'all';
      /** Id of the cluster whose state it holds; undefined: of none yet. */
      readonly owner: string | undefined;
    }
  | { readonly database: string; readonly answer: 'failed'; readonly reason: string };

export type BrokerProbe =
  | {
      readonly broker: string;
      readonly answer: 'ok';
      /** Where the brokers of the cluster say that they can be reached: the server connects there. */
      readonly advertised: readonly string[];
    }
  | { readonly broker: string; readonly answer: 'failed'; readonly reason: string };
