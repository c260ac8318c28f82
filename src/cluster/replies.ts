export type ClusterRejection = {
  readonly reason:
    /** ALREADY_EXISTS + NamespaceAlreadyExistsFailure */
    | 'namespace-exists'
    /** NOT_FOUND + NamespaceNotFoundFailure */
    | 'namespace-not-found'
    /** INVALID_ARGUMENT */
    | 'invalid-argument'
    /** FAILED_PRECONDITION */
    | 'failed-precondition'
    /** RESOURCE_EXHAUSTED: later it is possible */
    | 'resource-exhausted';
  readonly message: string;
};

export type ClusterRejected = { readonly kind: 'rejected'; readonly rejection: ClusterRejection };

export type Done = { readonly kind: 'done' };

export type ClusterReply = Done | ClusterRejected;

/** Which reply (besides ClusterRejected) each command gets. */
export type ClusterReplyTo = {
  readonly registerNamespace: Done;
  readonly updateNamespace: Done;
  readonly deleteNamespace: Done;
  readonly endNamespace: Done;
  readonly addSearchAttributes: Done;
  readonly removeSearchAttributes: Done;
  readonly purgeSearchAttributes: Done;
  readonly addDeadLetterQueue: Done;
  readonly initializeCluster: Done;
  readonly syncCluster: Done;
};
