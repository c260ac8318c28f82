import { afterEach } from 'vitest';
import type { Child } from './child.ts';

/** For one test file: the children that are put in are killed after each test. */
export function childrenOfEachTest(): Child[] {
  const children: Child[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.process.kill('SIGKILL');
      await child.exit;
    }
  });
  return children;
}
