import { expect, test } from 'vitest';
import { deadLetterQueueName } from '../../src/grpc/admin-service/dead-letters.ts';

test.each([
  [1, 'test-source-cluster', 'test-target-cluster', '1_test-source-cluster_test-target-cluster_aG2oua8T'],
  [1, 'active', 'active', '1_active_active_B8jqXXpO'],
  [2, 'active', 'active', '2_active_active_B8jqXXpO'],
  [3, 'cluster-b', 'cluster-a', '3_cluster-b_cluster-a_fBHReUbh'],
])('the queue of %i from %s to %s', (category, source, target, name) => {
  expect(deadLetterQueueName(category, source, target)).toBe(name);
});
