/** What is not declared here cannot be emitted. Names and tags are the operations guide's; all have `service_name` and `service_role`. */
type Declaration = { readonly kind: 'counter' | 'gauge' | 'timer'; readonly tags: readonly string[]; readonly help: string };

const ofCall = ['operation', 'namespace'] as const;
const ofPersistence = ['operation', 'db_kind', 'namespace'] as const;
const ofTask = ['operation', 'task_type', 'namespace'] as const;

const ofClusters = ['source_cluster', 'target_cluster'] as const;
const ofCallback = ['namespace', 'outcome'] as const;

const replicationCounter = (help: string) => ({ kind: 'counter', tags: ['operation'], help }) as const;
const errorCounter = (help: string) => ({ kind: 'counter', tags: ofCall, help }) as const;

export const declarations = {
  restarts: { kind: 'counter', tags: ['temporal_service_type'], help: 'Starts of this process: 1.' },
  dynamic_config_update_failure: {
    kind: 'gauge',
    tags: [],
    help: '1 while the dynamic configuration file cannot be used; its previous values stay in effect.',
  },
  service_requests: { kind: 'counter', tags: ofCall, help: 'Calls that ended.' },
  service_pending_requests: { kind: 'gauge', tags: ofCall, help: 'Calls in progress.' },
  service_errors: errorCounter('Calls that failed through no fault of the caller.'),
  service_error_with_type: { kind: 'counter', tags: [...ofCall, 'error_type'], help: 'Calls that ended with an error, by its type.' },
  service_latency: { kind: 'timer', tags: ofCall, help: 'How long calls took.' },
  service_latency_nouserlatency: { kind: 'timer', tags: ofCall, help: 'How long calls took that wait for no worker or workflow.' },
  service_grpc_conn_accepted: { kind: 'counter', tags: [], help: 'gRPC connections that were accepted.' },
  service_grpc_conn_closed: { kind: 'counter', tags: [], help: 'gRPC connections that are closed.' },
  service_grpc_conn_active: { kind: 'gauge', tags: [], help: 'gRPC connections that are open.' },
  perdure_grpc_limit_hits: {
    kind: 'counter',
    tags: ['limit'],
    help: 'How often a limit on connections, or on the calls of one connection, refused a client or made it wait (`perdure.transport.…`).',
  },
  service_errors_invalid_argument: errorCounter('Calls refused as INVALID_ARGUMENT.'),
  service_errors_namespace_not_active: errorCounter('Calls to a namespace that is active elsewhere.'),
  service_errors_resource_exhausted: {
    kind: 'counter',
    tags: [...ofCall, 'resource_exhausted_cause', 'resource_exhausted_scope'],
    help: 'Calls refused as RESOURCE_EXHAUSTED.',
  },
  service_errors_entity_not_found: errorCounter('Calls for something that does not exist.'),
  service_errors_execution_already_started: errorCounter('Starts of a workflow that is running already.'),
  service_errors_context_timeout: errorCounter('Calls that did not end before their deadline.'),
  dlq_writes: {
    kind: 'counter',
    tags: ['task_category', 'namespace', 'namespace_state', 'task_type', 'operation', 'cause'],
    help: 'Tasks that became dead letters.',
  },
  dlq_message_count: { kind: 'gauge', tags: ['task_category'], help: 'Dead letters in the queues; reported by the owner of shard 1.' },
  persistence_requests: { kind: 'counter', tags: ofPersistence, help: 'Operations on stored state.' },
  persistence_errors: { kind: 'counter', tags: ofPersistence, help: 'Operations on stored state that failed.' },
  persistence_latency: { kind: 'timer', tags: ofPersistence, help: 'How long operations on stored state took.' },
  task_terminal_failures: { kind: 'counter', tags: ofTask, help: 'Tasks that failed for good and are about to become dead letters.' },
  task_dlq_failures: { kind: 'counter', tags: ofTask, help: 'Dead letters that no queue accepted.' },
  task_dlq_latency: { kind: 'timer', tags: ofTask, help: 'How long a queue took to accept a dead letter.' },
  replication_dlq_enqueue_failed: replicationCounter('Dead letters of replication that their queue did not accept.'),
  replication_dlq_non_empty: replicationCounter('Checks, one every 5 min, that found dead letters of replication.'),
  replication_dlq_max_level: { kind: 'gauge', tags: ofClusters, help: 'The highest message id among dead letters of replication.' },
  replication_dlq_ack_level: { kind: 'gauge', tags: ofClusters, help: 'The message id up to which no dead letter of replication is left.' },
  namespace_replication_dlq_enqueue_requests: {
    kind: 'counter',
    tags: ['namespace', 'replicationTaskType'],
    help: 'Dead letters of namespace replication.',
  },
  callback_outbound_requests: { kind: 'counter', tags: ofCallback, help: 'Attempts to deliver completion callbacks of workflows.' },
  callback_outbound_latency: { kind: 'timer', tags: ofCallback, help: 'How long attempts at completion callbacks took.' },
  perdure_dlq_messages: { kind: 'gauge', tags: ['task_category', 'source_cluster', 'state'], help: 'Dead letters of a queue by state.' },
  perdure_dlq_oldest_age_seconds: { kind: 'gauge', tags: ['task_category', 'source_cluster'], help: 'Age of the oldest open dead letter.' },
  perdure_dlq_resolved: { kind: 'counter', tags: ['task_category', 'how'], help: 'Dead letters that were merged or purged.' },
  perdure_dlq_merge_outcomes: { kind: 'counter', tags: ['task_category', 'outcome'], help: 'Dead letters that a merge tried again.' },
  perdure_dlq_merge_latency: { kind: 'timer', tags: ['task_category', 'outcome'], help: 'How long a merge of one dead letter took.' },
  perdure_dlq_jobs: { kind: 'gauge', tags: ['operation', 'state'], help: 'Dead letter jobs by state.' },
  perdure_dlq_redrive_ignored: { kind: 'counter', tags: [], help: 'Records of the redrive topic, which are ignored.' },
} as const satisfies Readonly<Record<string, Declaration>>;

export type MetricName = keyof typeof declarations;
type Named<Kind> = { [Name in MetricName]: (typeof declarations)[Name]['kind'] extends Kind ? Name : never }[MetricName];
export type CounterName = Named<'counter'>;
export type GaugeName = Named<'gauge'>;
export type TimerName = Named<'timer'>;
/** A value for each tag of a metric. */
export type TagsOf<Name extends MetricName> = Readonly<Record<(typeof declarations)[Name]['tags'][number], string>>;
