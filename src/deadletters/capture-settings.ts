/** When a task that fails becomes a letter, as operators set it: by the names of Temporal's dynamic configuration and of its operations guide. */
import { errorPattern, type ErrorPattern } from './error-pattern.ts';

export type CaptureSettings = {
  /** False: what fails is tried for ever, and makes no letter. */
  readonly enabled: boolean;
  readonly internalErrorsArePermanent: boolean;
  /** Undefined: none. What it matches is permanent, whatever kind of failure that is. */
  readonly errorPattern: ErrorPattern | undefined;
  /** Failures that count, before a task of this category is a letter; at least 1. */
  failuresMaxOf(category: string): number;
};

/** With the usual pauses about an hour. */
const FAILURES_MAX = 70;

const keys = {
  enabled: 'history.TaskDLQEnabled',
  internalErrors: 'history.TaskDLQInternalErrors',
  errorPattern: 'history.TaskDLQErrorPattern',
  failuresMax: 'history.TaskDLQUnexpectedErrorAttempts',
} as const;

const keysByCategory: ReadonlyMap<string, string> = new Map([
  ['transfer', 'history.transferProcessorMaxRetryCount'],
  ['timer', 'history.timerProcessorMaxRetryCount'],
]);

/** `problems`: of values that are ignored, for a WARN each; the default holds then. */
export function captureSettings(dynamicConfig: ReadonlyMap<string, unknown>): {
  readonly settings: CaptureSettings;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const read = <Value>(key: string, fits: (value: unknown) => value is Value, expected: string): Value | undefined => {
    const value = dynamicConfig.get(key);
    if (value === undefined || fits(value)) return value;
    problems.push(`${key} is ignored: expected ${expected}`);
    return undefined;
  };
  const readCount = (key: string): number | undefined => read(key, isCount, 'a whole number of at least 1');
  const failuresMax = readCount(keys.failuresMax) ?? FAILURES_MAX;
  const ofCategory = new Map([...keysByCategory].map(([category, key]) => [category, readCount(key) ?? failuresMax]));
  const settings: CaptureSettings = {
    enabled: read(keys.enabled, isSwitch, 'true or false') ?? true,
    internalErrorsArePermanent: read(keys.internalErrors, isSwitch, 'true or false') ?? false,
    errorPattern: readPattern(read(keys.errorPattern, isText, 'a text') ?? '', problems),
    failuresMaxOf: (category) => ofCategory.get(category) ?? failuresMax,
  };
  return { settings, problems };
}

function readPattern(text: string, problems: string[]): ErrorPattern | undefined {
  if (text === '') return undefined;
  const compiled = errorPattern(text);
  if (compiled.kind === 'pattern') return compiled.pattern;
  problems.push(`${keys.errorPattern} is ignored: ${compiled.problem}`);
  return undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function isSwitch(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
