import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingEntries } from '../../scripts/complete-lock.ts';

test('npm ci accepts the lock file on every platform: run node scripts/complete-lock.ts after npm install', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as Parameters<
    typeof missingEntries
  >[0];
  expect([...missingEntries(lock).keys()]).toEqual([]);
});

test('what is missing is told from the names of optional packages', () => {
  const missing = missingEntries({
    packages: {
      'node_modules/a': {
        dev: true,
        optionalDependencies: { '@a/linux-x64-musl': '1.2.3', '@a/win32-arm64': '1.2.3', '@a/linux-x64-gnu': '1.2.3' },
      },
      'node_modules/@a/linux-x64-gnu': { version: '1.2.3' },
    },
  });
  expect(Object.fromEntries(missing)).toEqual({
    'node_modules/@a/linux-x64-musl': { version: '1.2.3', cpu: ['x64'], dev: true, libc: ['musl'], optional: true, os: ['linux'] },
    'node_modules/@a/win32-arm64': { version: '1.2.3', cpu: ['arm64'], dev: true, optional: true, os: ['win32'] },
  });
});
