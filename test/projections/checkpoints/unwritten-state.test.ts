/** What waits for the database in memory: what people are told of it, and from when on nothing is started. */
import { describe, expect, test } from 'vitest';
import { UnwrittenState } from '../../../src/projections/checkpoints/unwritten-state.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { HandClock } from '../../support/hand-clock.ts';

const mebibyte = 2 ** 20;

class Bench {
  readonly clock = new HandClock();
  readonly lines: string[] = [];
  readonly #parts = [0, 1].map(() => ({ unwrittenBytes: 0, writeTrouble: undefined as { readonly reason: string } | undefined }));
  readonly unwritten = new UnwrittenState({
    bytesMax: 1_000 * mebibyte,
    clock: this.clock,
    logger: createLogger({ level: 'info', format: 'text', write: (line) => void this.lines.push(line), nowMs: () => 0 }),
  });

  constructor() {
    for (const part of this.#parts) this.unwritten.join(part);
  }

  /** Records of that part have come until it has so much. */
  grow(nth: 0 | 1, mib: number): void {
    const part = this.#parts[nth]!;
    const bytes = mib * mebibyte - part.unwrittenBytes;
    for (let step = 1; step <= 100; step++) {
      part.unwrittenBytes += bytes / 100;
      this.unwritten.committed(bytes / 100);
    }
  }

  /** The database takes all but so much of it. */
  written(nth: 0 | 1, mib: number): void {
    this.#parts[nth]!.unwrittenBytes = mib * mebibyte;
  }

  hinders(reason: string | undefined): void {
    for (const part of this.#parts) part.writeTrouble = reason === undefined ? undefined : { reason };
  }

  leave(nth: 0 | 1): void {
    this.unwritten.leave(this.#parts[nth]!);
  }

  said(): string[] {
    return this.lines.splice(0).map((line) => line.replace(/^\S+\s+/, '').trimEnd());
  }
}

test('it is full when that of all journals is too much', () => {
  const bench = new Bench();
  bench.grow(0, 600);
  expect(bench.unwritten.isFull).toBe(false);
  bench.grow(1, 400);
  expect(bench.unwritten.isFull).toBe(true);
  bench.leave(1);
  expect(bench.unwritten.isFull).toBe(false);
});

describe('operators are informed', () => {
  test('once, at half of the limit, with what to do and why the database takes nothing; health says so as long', () => {
    const bench = new Bench();
    bench.grow(0, 240);
    bench.grow(1, 240);
    expect(bench.said()).toEqual([]);
    expect(bench.unwritten.concern).toBeUndefined();
    bench.hinders('connection refused');
    bench.grow(0, 280);
    expect(bench.said()).toEqual([
      expect.stringMatching(/^WARN .*is falling behind.*Bring the database back.* limit-mib=1000 reason="connection refused"$/),
    ]);
    expect(bench.unwritten.concern).toMatch(
      /^520 MiB of state .* of at most 1000 MiB .*past the limit no workflow is started.*\(connection refused\)$/,
    );
    bench.grow(1, 400);
    bench.clock.advance(60_000);
    expect(bench.said(), 'nothing new').toEqual([]);
  });

  test('past the limit, once a minute, that nothing is started', () => {
    const bench = new Bench();
    bench.grow(0, 1_100);
    expect(bench.said()).toEqual([
      expect.stringMatching(/^WARN .*is falling behind/),
      expect.stringMatching(/^WARN .*no workflow is started/),
    ]);
    expect(bench.unwritten.concern).toContain('no workflow is started until the database has written them');
    bench.clock.advance(59_000);
    expect(bench.said()).toEqual([]);
    bench.clock.advance(2_000);
    expect(bench.said()).toEqual([expect.stringMatching(/^WARN .*no workflow is started/)]);
  });

  test('when it has fallen, though no record comes; not at each checkpoint of a database that is slow', () => {
    const bench = new Bench();
    bench.grow(0, 510);
    expect(bench.said()).toHaveLength(1);
    for (let round = 0; round < 20; round++) {
      bench.written(0, 410);
      bench.clock.advance(1_000);
      bench.grow(0, 510);
    }
    expect(bench.said()).toEqual([]);
    bench.written(0, 100);
    bench.clock.advance(1_000);
    expect(bench.said()).toEqual([expect.stringMatching(/^INFO .*caught up.* unwritten-mib=100 /)]);
    expect(bench.unwritten.concern).toBeUndefined();
    expect(bench.clock.pending, 'nothing is looked at any more').toBe(0);
    bench.grow(0, 600);
    expect(bench.said()).toEqual([expect.stringMatching(/^WARN .*is falling behind/)]);
  });

  test('and nothing is looked at when the journals are no longer here', () => {
    const bench = new Bench();
    bench.grow(0, 900);
    bench.leave(0);
    bench.leave(1);
    expect(bench.clock.pending).toBe(0);
    expect(bench.unwritten.concern).toBeUndefined();
  });
});
