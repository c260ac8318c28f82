import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'perdure-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A limit on the size of files cuts a write as a full disk does; the process lifts it by itself. */
const script = (filename: string): string => `
  import { execFileSync } from 'node:child_process';
  const { openLogFile } = await import(${JSON.stringify(new URL('../../src/observability/log-file.ts', import.meta.url).href)});
  const write = openLogFile(${JSON.stringify(filename)}, (what) => console.log(what));
  const line = (n) => write(JSON.stringify({ n, msg: 'ü'.repeat(40) }) + '\\n');
  for (let n = 1; n <= 12; n++) line(n);
  execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']);
  line(13);
  line(14);
`;

test.skipIf(!existsSync('/usr/bin/prlimit'))(
  'a line that a full disk cut is finished before the next one, the others are counted as lost',
  () => {
    const filename = join(folder, 'cut.log');
    const said = execFileSync('prlimit', ['--fsize=750:unlimited', process.execPath, '--input-type=module', '--eval', script(filename)], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    const lines = readFileSync(filename, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 13, 14]);
    expect(said).toMatch(/cannot be written; lines are lost until it can \(EFBIG.*\)\n.* can be written again; 4 lines were lost\n$/);
  },
);
