/**
 * The topics while we serve: once a minute their settings are compared with what the journals need, and their beginnings looked at. People
 * change both, and without this watch it would show late: with a retention limit Kafka deletes a journal hours later, and only the next
 * start would find that it is gone.
 *
 *     a setting differs          warning: mend it now, nothing is lost yet
 *     one of dead letters        warning, whatever it is: no workflow waits for it
 *     a journal's start moved    beyond what a checkpoint holds: lost. This server still has in memory what was there, its next start will not
 *     a topic is missing         warning, and lost at the next look: rights that are being changed hide topics for a moment
 */
import { LogError, type PartitionId, type TopicSpec } from '../../ports/log.ts';
import { withAdmin, type AdminOptions } from './admin.ts';
import { describeWrong, findWrongSettings, repairCommands } from './topic-settings.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { Admin } from 'kafkajs';
import type { Concern } from '../../actors/ownership/census.ts';

export type TopicWatchOptions = AdminOptions & {
  /** The topics whose partitions are served. */
  readonly topics: readonly TopicSpec[];
  /** The topics of dead letters. No workflow waits for them: what befalls them takes nobody out of service. */
  readonly addedTopics: () => readonly TopicSpec[];
  /** What there is to worry about after each look; empty when all is well. */
  readonly onLook: (concerns: readonly Concern[]) => void;
  /** Where a journal may begin: what stands before that is in the database. */
  readonly startMax: (partition: PartitionId) => number;
  readonly intervalMs?: number;
};

const intervalMsDefault = 60_000;

/** Answers a function that ends the watch. */
export function watchTopics(options: TopicWatchOptions): () => void {
  const watch = new TopicWatch(options);
  watch.lookLater();
  return () => watch.stop();
}

class TopicWatch {
  readonly #options: TopicWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #concerned = false;
  #missing: ReadonlySet<string> = new Set();

  constructor(options: TopicWatchOptions) {
    this.#options = options;
  }

  lookLater(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#look().then(() => this.lookLater()), this.#options.intervalMs ?? intervalMsDefault);
    this.#timer.unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { logger, onLook } = this.#options;
    try {
      const concerns = await withAdmin(this.#options, (admin) => this.#findConcerns(admin));
      if (this.#stopped) return;
      for (const { subject, severity, message, repair } of concerns) logger.warn(message, { topic: subject, severity, repair });
      if (concerns.length === 0 && this.#concerned) logger.info('the settings of all topics are correct again');
      this.#concerned = concerns.length > 0;
      onLook(concerns);
    } catch (error) {
      // The partitions that an outage stops report it; that a right is missing is reported only here.
      const level = error instanceof LogError && error.code === 'misconfigured' ? 'warn' : 'debug';
      if (!this.#stopped) logger[level]('the settings of the topics could not be read', { error: errorMessage(error) });
    }
  }

  async #findConcerns(admin: Admin): Promise<readonly Concern[]> {
    const { kafka } = this.#options;
    const added = this.#options.addedTopics();
    const topics = [...this.#options.topics, ...added];
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter(({ name }) => !existing.has(name));
    const concerns = missing.map((topic) => missingTopic(topic, this.#missing.has(topic.name) && !added.includes(topic)));
    this.#missing = new Set(missing.map(({ name }) => name));
    const there = topics.filter(({ name }) => existing.has(name));
    if (there.length === 0) return concerns;
    const { topics: metadata } = await admin.fetchTopicMetadata({ topics: there.map(({ name }) => name) });
    const wrong = Map.groupBy(await findWrongSettings(admin, there, metadata), ({ topic }) => topic);
    for (const [topic, list] of wrong) {
      const message = list.map(describeWrong).join('; ');
      concerns.push({ subject: topic, severity: 'warning', message, repair: repairCommands(list, kafka).join('\n') });
    }
    for (const topic of there) {
      const cut = await this.#cutPartitions(admin, topic);
      if (cut.length > 0) concerns.push(cutTopic(topic, cut, { settingsAreWrong: wrong.has(topic.name), isAdded: added.includes(topic) }));
    }
    return concerns;
  }

  async #cutPartitions(admin: Admin, { name, partitions }: TopicSpec): Promise<readonly CutPartition[]> {
    const offsets = await admin.fetchTopicOffsets(name);
    // Asked afterwards: our own trim goes on meanwhile, and never beyond it.
    return offsets
      .map(({ partition, low }) => ({ partition, start: Number(low) }))
      .filter(({ partition, start }) => partition < partitions && start > this.#options.startMax({ topic: name, partition }))
      .toSorted((a, b) => a.partition - b.partition);
  }
}

type CutPartition = { readonly partition: number; readonly start: number };

function missingTopic({ name, purpose, holdsLetters = false }: TopicSpec, again: boolean): Concern {
  const left = holdsLetters ? 'only the index of its dead letters is left' : 'its records are only in the memory of this server';
  const message = `topic ${name} is gone (${purpose}), or this user may no longer see it: ${left}`;
  return { subject: name, severity: again ? 'lost' : 'warning', message };
}

type CutHow = { readonly settingsAreWrong: boolean; readonly isAdded: boolean };

function cutTopic({ name, holdsLetters = false }: TopicSpec, cut: readonly CutPartition[], { settingsAreWrong, isAdded }: CutHow): Concern {
  const starts = cut.map(({ partition, start }) => `partition ${partition} starts at ${start}`).join(', ');
  const cause = settingsAreWrong
    ? 'correct its settings first'
    : 'its settings are correct now, so the cause was a retention limit that was removed, or DeleteRecords';
  const what = `topic ${name} has lost the beginning of journals (${starts}): ${cause}.`;
  if (!isAdded) {
    const next = 'This server continues with what it has in memory; its next start will refuse these partitions';
    return { subject: name, severity: 'lost', message: `${what} ${next}` };
  }
  const left = holdsLetters
    ? 'Dead letters whose records were there are listed as damaged, and can be purged'
    : 'Records that are not in memory are lost';
  return { subject: name, severity: 'warning', message: `${what} ${left}; everything else continues` };
}
