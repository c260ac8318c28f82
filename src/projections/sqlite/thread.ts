/** The thread of an SQLite database. */
import { workerData } from 'node:worker_threads';
import { say, serve } from '../thread/serve.ts';
import { sqliteDatabase } from './sqlite-database.ts';
import type { SqliteOptions } from './options.ts';

const options: SqliteOptions = workerData;
serve(sqliteDatabase(options, say));
