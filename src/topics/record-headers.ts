/** The headers of every journal record on Kafka: UTF-8 text, so that any tool shows them. Empty ones of the last four are left out. */
export const headerNames = {
  schema: 'perdure.schema',
  epoch: 'perdure.epoch',
  sequence: 'perdure.sequence',
  type: 'type',
  namespace: 'namespace',
  workflowId: 'workflow-id',
  runId: 'run-id',
} as const;
