import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import { NAMESPACE } from './program.ts';

/** Where completion callbacks may go: the target of a program. */
export const callbackAddresses = [{ Pattern: '127.0.0.1:*', AllowInsecure: true, AllowPrivate: true }];

/** By name, as the API calls them. */
type AttributeTypes = { readonly [name: string]: string };

/** Until search attributes that were just added can be used in filters. */
export async function prepare(api: Api, types: AttributeTypes): Promise<void> {
  const searchAttributes = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, `INDEXED_VALUE_TYPE_${type}`]));
  const query = Object.keys(types).map((name) => `\`${name}\` IS NULL`);
  for (let attempt = 0; attempt < 100; attempt++) {
    await api.call('AddSearchAttributes', { namespace: NAMESPACE, searchAttributes });
    if ((await api.call('CountWorkflowExecutions', { namespace: NAMESPACE, query: query.join(' OR ') })).code === 0) return;
    await delay(250);
  }
  throw new Error('the search attributes do not appear');
}

/** What programs use. */
export const programAttributes: AttributeTypes = { DiffKeyword: 'KEYWORD', DiffInt: 'INT' };
