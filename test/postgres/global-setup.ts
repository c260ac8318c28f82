/** One PostgreSQL for the whole test run: plugged in as `globalSetup`, read by the suites with `inject('postgres')`. */
import { canStartPostgres, startPostgres } from './postgres.ts';
import type { TestProject } from 'vitest/node';

export type PostgresAddress = { readonly host: string; readonly port: number } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: PostgresAddress;
  }
}

/** Starts the server, says where it is, and gives back what ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const reason = await canStartPostgres();
  if (reason !== undefined) {
    console.warn(`\n*** SKIPPED: every PostgreSQL suite. ${reason} ***\n`);
    project.provide('postgres', { missing: reason });
    return async () => {};
  }
  const postgres = await startPostgres();
  project.provide('postgres', { host: postgres.host, port: postgres.port });
  return () => postgres.stop();
}
