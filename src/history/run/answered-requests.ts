/**
 * Requests of operators, and signals of earlier runs of the chain, that were answered: whoever lost the answer asks again, perhaps too late.
 *
 *     pause A ─▶ unpause B ─▶ pause A, late ─▶ answered as it was, and nothing happens
 *     signal S ─▶ continued as new ─▶ signal S, late ─▶ likewise
 */

/** What was asked. One request id may pause, and unpause again. */
export const operation = { pause: 1, unpause: 2, reset: 3, updateOptions: 4, signal: 5 } as const;

export type AnsweredRequest = { readonly operation: number; readonly requestId: string };

/** The newest, oldest first. undefined in their place: none. */
export type AnsweredRequests = { readonly requests: readonly AnsweredRequest[] };

/** How many answered requests an activity remembers, and a workflow; a workflow remembers as many signals. */
export const answeredRequestsMax = 20;

/** Without an id no request is another one's repetition. */
export function hasAnswered(answered: AnsweredRequests | undefined, asked: number, requestId: string): boolean {
  if (requestId === '' || answered === undefined) return false;
  return answered.requests.some((one) => one.operation === asked && one.requestId === requestId);
}

export function withAnswered(answered: AnsweredRequests | undefined, request: AnsweredRequest): AnsweredRequests {
  const requests = [...(answered?.requests ?? []), request];
  // Signals are many: they put out no request of an operator.
  const alike = requests.filter((one) => isSignal(one) === isSignal(request));
  return { requests: alike.length > answeredRequestsMax ? requests.filter((one) => one !== alike[0]) : requests };
}

function isSignal(request: AnsweredRequest): boolean {
  return request.operation === operation.signal;
}

export function answeredBytes(answered: AnsweredRequests | undefined): number {
  let bytes = 0;
  for (const { requestId } of answered?.requests ?? []) bytes += requestId.length;
  return bytes;
}
