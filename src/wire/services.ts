/**
 * Messages of MatchingService and AdminService, as protobufjs classes. Their module is megabytes of code that no worker needs: it is read
 * when the first such call arrives, so that starting the server does not pay for it.
 *
 * Types alone cost nothing: `import type { temporal } from './generated/services.js'`.
 */
import type { temporal } from './generated/services.js';

type ServiceMessages = typeof temporal.server.api;

let loading: Promise<ServiceMessages> | undefined;

export function loadServiceMessages(): Promise<ServiceMessages> {
  loading ??= import('./generated/services.js').then((module) => module.temporal.server.api);
  return loading;
}
