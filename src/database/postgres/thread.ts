/** The thread of a PostgreSQL database. */
import { workerData } from 'node:worker_threads';
import { say, serve } from '../thread/serve.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { relayedLogger } from './relayed-logger.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';

const options: PostgresOptions = workerData;
serve(new PostgresDatabase(options, relayedLogger(say)));
