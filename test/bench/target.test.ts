import { expect, test } from 'vitest';
import { cpuMsOf, residentMiBOf } from './target.ts';

test('what nobody named a process for is not measured, and is not nothing', () => {
  expect([cpuMsOf([]), residentMiBOf([])]).toEqual([Number.NaN, Number.NaN]);
  expect(cpuMsOf([2 ** 30])).toBeNaN();
  expect(cpuMsOf([process.pid])).toBeGreaterThan(0);
});
