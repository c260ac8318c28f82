export type ClusterRejection = {
  readonly reason:
    /** ALREADY_EXISTS + NamespaceAlreadyExistsFailure */
    | 'namespace-exists'
    /** NOT_FOUND + NamespaceNotFoundFailure */
    | 'namespace-not-found'
    /** INVALID_ARGUMENT */
    | 'invalid-argument'
    /** FAILED_PRECONDITION */
    | 'failed-precondition';
  readonly message: string;
};

export type ClusterReply = { readonly kind: 'done' } | { readonly kind: 'rejected'; readonly rejection: ClusterRejection };
