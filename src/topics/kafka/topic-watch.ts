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
import { LogError, type TopicSpec } from '../../actors/log.ts';
import { withAdmin, type AdminOptions } from './admin.ts';
import { describeWrong, findWrongSettings, mendingCommands } from './topic-settings.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { Admin } from 'kafkajs';
import type { Concern } from '../../actors/ownership/census.ts';
import type { PartitionId } from '../../actors/log.ts';

export type TopicWatchOptions = AdminOptions & {
  /** With the partitions that are served. */
  readonly topics: readonly TopicSpec[];
  /** Those of dead letters, as of now. No workflow waits for what stands there: what befalls them takes nobody out of service. */
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
      for (const { subject, severity, message, mend } of concerns) logger.warn(message, { topic: subject, severity, mend });
      if (concerns.length === 0 && this.#concerned) logger.info('the topics are as they should be again');
      this.#concerned = concerns.length > 0;
      onLook(concerns);
    } catch (error) {
      // The partitions that an outage stops report it; that a right is missing is reported only here.
      const level = error instanceof LogError && error.code === 'misconfigured' ? 'warn' : 'debug';
      if (!this.#stopped) logger[level]('the settings of the topics could not be looked at', { error: errorMessage(error) });
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
      concerns.push({ subject: topic, severity: 'warning', message, mend: mendingCommands(list, kafka).join('\n') });
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
  const left = holdsLetters ? 'of its letters only their index is left' : 'what stood there is only in the memory of this server';
  return {
    subject: name,
    severity: again ? 'lost' : 'warning',
    message: `topic ${name} is gone (${purpose}), or this user may no longer see it: ${left}`,
  };
}

type CutHow = { readonly settingsAreWrong: boolean; readonly isAdded: boolean };

function cutTopic({ name, holdsLetters = false }: TopicSpec, cut: readonly CutPartition[], { settingsAreWrong, isAdded }: CutHow): Concern {
  const starts = cut.map(({ partition, start }) => `partition ${partition} starts at ${start}`).join(', ');
  const cause = settingsAreWrong
    ? 'mend its settings first'
    : 'its settings are right now, so this was a retention limit that somebody took back, or DeleteRecords';
  const what = `topic ${name} has lost the beginning of journals (${starts}): ${cause}.`;
  if (!isAdded) {
    const next = 'This server goes on with what it has in memory; its next start will refuse these partitions';
    return { subject: name, severity: 'lost', message: `${what} ${next}` };
  }
  const left = holdsLetters
    ? 'Dead letters whose records stood there are listed as damaged, and can be purged'
    : 'What stood there and is not in memory is lost';
  return { subject: name, severity: 'warning', message: `${what} ${left}; all else goes on` };
}
