import { describe, test } from 'vitest';
import { scenarios } from './scenarios.ts';

describe('the commit protocol', () => {
  for (const { rule, name, run } of scenarios) test(`${rule}: ${name}`, run);
});
