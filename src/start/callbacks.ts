import { systemClock } from '../ports/system-ports.ts';
import type { CallbackOptions } from '../actors/history/side-tasks/callback-tasks.ts';
import { callbackRequestSettings, callbackRetrySettings, callbackSettings } from '../config/callback-settings.ts';
import type { DynamicValues } from '../config/dynamic-config.ts';
import type { ValuesOf } from '../config/dynamic-setting.ts';
import type { AddressRule } from '../kernel/callback-address.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { type AttemptMade, CallbackSender } from '../outbound/callback-deliveries.ts';
import { HttpSender } from '../outbound/http-sender.ts';

type CallbackLimits = Omit<ValuesOf<typeof callbackSettings>, 'allowedAddresses'> & { readonly allowedAddresses: readonly AddressRule[] };

export type Callbacks = {
  readonly ofShards: CallbackOptions;
  readonly ofFrontend: {
    readonly limitsOf: (namespace: string) => CallbackLimits;
    readonly isBlocked: (namespaceId: string, callback: Uint8Array) => boolean;
  };
};

export function callbacksOf(config: DynamicValues, metrics: Metrics | undefined): Callbacks {
  const sender = new HttpSender();
  const deliveries = new CallbackSender({
    clock: systemClock,
    settingsOf: (namespace, destination) => ({
      ...config.values(callbackRequestSettings, { namespace, destination }),
      allowedAddresses: allowedAddresses(config, namespace),
    }),
    post: (post, answer) => sender.post(post, answer),
    attempted: (attempt) => count(metrics, attempt),
  });
  const limitsOf = (namespace: string): CallbackLimits => ({
    ...config.values(callbackSettings, { namespace }),
    allowedAddresses: allowedAddresses(config, namespace),
  });
  return {
    ofShards: { deliveries, retry: () => config.values(callbackRetrySettings) },
    ofFrontend: { limitsOf, isBlocked: (namespaceId, callback) => deliveries.isBlocked(namespaceId, callback) },
  };
}

function allowedAddresses(config: DynamicValues, namespace: string): readonly AddressRule[] {
  const values = config.values(callbackSettings, { namespace });
  return values.allowedAddresses ?? values.componentAllowedAddresses ?? [];
}

/** The destination is not a tag, because clients choose it, and each would be a new series. */
function count(metrics: Metrics | undefined, { namespace, outcome, durationMs }: AttemptMade): void {
  const tags = { namespace, outcome: outcome.kind === 'delivered' ? 'success' : outcome.errorType };
  metrics?.counter('callback_outbound_requests', tags).add();
  metrics?.timer('callback_outbound_latency', tags).record(durationMs);
}
