/** The turns of a process's event loop, as `turn-probe.mjs` writes them down. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const probe = fileURLToPath(new URL('turn-probe.mjs', import.meta.url));

export class Turns {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** For the process whose turns are to be written down. */
  get environment(): { readonly [name: string]: string } {
    return { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${probe}`.trim(), FLOOD_TURNS: this.#file };
  }

  /** The longest between two times by `Date.now()`, on a processor. */
  longestMs(fromMs: number, untilMs: number): number {
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    const turns = lines.map((line) => line.split(' ').map(Number)).filter(([atMs = 0]) => atMs > fromMs && atMs <= untilMs);
    return Math.max(0, ...turns.map(([, longestMs = 0]) => longestMs));
  }
}
