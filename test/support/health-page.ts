/** `GET /health` of a running server. */
import type { Concern } from '../../src/actors/census.ts';

export type HealthPage = { readonly status: string; readonly concerns?: readonly Concern[] };

export async function healthPageOf(address: string): Promise<readonly [httpStatus: number, page: HealthPage]> {
  const response = await fetch(`http://${address}/health`);
  return [response.status, (await response.json()) as HealthPage];
}
