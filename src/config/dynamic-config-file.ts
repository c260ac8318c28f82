/**
 * The file of dynamic configuration, looked at now and then:
 *
 *     look ── nothing has changed ─▶ wait
 *       ├──── values ──────────────▶ they hold at once, each change is told
 *       └──── broken, or gone ─────▶ told once; what held before holds on, until the file is fixed
 */
import { readFile, stat } from 'node:fs/promises';
import { asError } from '../kernel/error-text.ts';
import type { Logger } from '../observability/logger.ts';
import { checkDynamicConfigFile, type DynamicConfig, type DynamicEntries, type Entry } from './dynamic-config.ts';
import { dynamicSettings } from './dynamic-settings.ts';
import { shown } from './shown.ts';
import type { DynamicConfigFileOptions } from './server-options.ts';

export type DynamicConfigFileParts = {
  readonly file: DynamicConfigFileOptions;
  readonly config: DynamicConfig;
  readonly logger: Logger;
  /** Whether the file as it is now is not used. */
  readonly onLooked: (isFailing: boolean) => void;
};

export class DynamicConfigFile {
  readonly #parts: DynamicConfigFileParts;
  #entries: DynamicEntries;
  #text: string;
  #stamp = '';
  /** The reason that was told; undefined: the file is used. */
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  /** The file was read, and found right, when the configuration was loaded. */
  constructor(parts: DynamicConfigFileParts) {
    this.#parts = parts;
    this.#entries = parts.file.entries;
    this.#text = parts.file.text;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), this.#parts.file.pollIntervalMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One look at a time; never rejects. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    }));
  }

  async #look(): Promise<void> {
    const { filename } = this.#parts.file;
    try {
      const stats = await stat(filename);
      checkDynamicConfigFile(stats);
      const stamp = `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
      if (stamp !== this.#stamp || this.#failure !== undefined) await this.#read(stamp);
    } catch (error) {
      this.#failed(asError(error).message);
    }
    this.#parts.onLooked(this.#failure !== undefined);
  }

  async #read(stamp: string): Promise<void> {
    const { filename } = this.#parts.file;
    const text = await readFile(filename, 'utf8');
    const isRead = text === this.#text;
    this.#stamp = stamp;
    this.#text = text;
    if (isRead && this.#failure === undefined) return;
    // What reads YAML is loaded when a file has changed.
    const { readDynamicConfig } = await import('./dynamic-config-yaml.ts');
    const { entries, problems } = readDynamicConfig(text);
    const error = problems.find(({ severity }) => severity === 'error');
    if (entries === undefined) return this.#failed(error === undefined ? 'no values' : `line ${error.line}: ${error.message}`);
    for (const { line, column, path, message } of problems)
      this.#parts.logger.warn(message, { file: `${filename}:${line}:${column}`, key: path === '' ? undefined : path });
    this.#use(entries);
  }

  #use(entries: DynamicEntries): void {
    const { config, logger, file } = this.#parts;
    if (this.#failure !== undefined) logger.info('the dynamic configuration file is used again', { file: file.filename });
    this.#failure = undefined;
    const before = this.#entries;
    this.#entries = entries;
    config.replace(entries);
    for (const { key, needsRestart } of dynamicSettings) {
      const [old, now] = [before, entries].map((all) => told(all.get(key.toLowerCase())));
      if (old === now) continue;
      logger.info('dynamic configuration has changed', { key, old, new: now });
      if (needsRestart) logger.warn('this dynamic configuration takes effect with the next start', { key, value: now });
    }
  }

  #failed(reason: string): void {
    if (reason === this.#failure) return;
    this.#failure = reason;
    const { logger, file } = this.#parts;
    logger.error('the dynamic configuration file cannot be used; its previous values stay in effect', {
      file: file.filename,
      error: reason,
    });
  }
}

function told(entries: readonly Entry[] = []): string {
  const [first, ...others] = entries;
  if (first === undefined) return 'default';
  return others.length === 0 && Object.keys(first.constraints).length === 0 ? shown(first.value) : JSON.stringify(entries);
}
