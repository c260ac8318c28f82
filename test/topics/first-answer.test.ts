import { expect, test } from 'vitest';
import { firstAnswer } from '../../src/topics/kafka/first-answer.ts';

const never = new Promise<string>(() => {});
const patient = 60_000;

test('the first that answers, and nobody after it is asked', async () => {
  const asked: string[] = [];
  const ask = async (name: string): Promise<string> => {
    asked.push(name);
    if (name === 'down') throw new Error('refused');
    return name;
  };
  expect(await firstAnswer(['down', 'up', 'spare'], ask, patient)).toBe('up');
  expect(asked).toEqual(['down', 'up']);
});

test('who is silent is not waited for alone', async () => {
  expect(await firstAnswer(['silent', 'up'], (name) => (name === 'silent' ? never : Promise.resolve(name)), 1)).toBe('up');
});

test('who was slow may still be the first to answer', async () => {
  const slow = Promise.withResolvers<string>();
  const ask = (name: string): Promise<string> => {
    if (name === 'slow') return slow.promise;
    slow.resolve('slow');
    return never;
  };
  expect(await firstAnswer(['slow', 'silent'], ask, 1)).toBe('slow');
});

test('nobody: all refusals are reported', async () => {
  const refused = firstAnswer(['a', 'b'], async (name) => Promise.reject(new Error(`${name} refused`)), patient);
  await expect(refused).rejects.toBeInstanceOf(AggregateError);
  await expect(refused).rejects.toMatchObject({ errors: [{ message: 'a refused' }, { message: 'b refused' }] });
  await expect(firstAnswer([], async () => 'x', patient)).rejects.toBeInstanceOf(AggregateError);
});
