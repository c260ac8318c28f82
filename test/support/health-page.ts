/** `GET /health` of a running server. */
import type { Concern, UnservedPartition } from '../../src/actors/ownership/census.ts';

export type HealthPage = {
  readonly status: string;
  readonly partitionsNotServed?: number;
  readonly partitions?: readonly UnservedPartition[];
  readonly concerns?: readonly Concern[];
};

export async function healthPageOf(address: string): Promise<readonly [httpStatus: number, page: HealthPage]> {
  const response = await fetch(`http://${address}/health`);
  return [response.status, (await response.json()) as HealthPage];
}
