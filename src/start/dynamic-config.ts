import { DynamicConfig } from '../config/dynamic-config.ts';
import { DynamicConfigFile } from '../config/dynamic-config-file.ts';
import { constantEntries } from '../config/dynamic-settings.ts';
import type { ServerOptions } from '../config/server-options.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';

export function dynamicConfigOf({ dynamicConfig, dynamicConfigFile }: ServerOptions): DynamicConfig {
  return new DynamicConfig(constantEntries(dynamicConfig).entries, dynamicConfigFile?.entries);
}

/** From now on changes of the file take effect, if there is one. Returns a function that ends that. */
export function watchDynamicConfig(
  { dynamicConfigFile: file, logger }: ServerOptions,
  config: DynamicConfig,
  metrics: MetricsRegistry | undefined,
): () => void {
  if (file === undefined) return () => {};
  const failing = metrics?.of('frontend').gauge('dynamic_config_update_failure', {});
  const onLooked = (isFailing: boolean): void => {
    if (failing !== undefined) failing.value = isFailing ? 1 : 0;
  };
  const watched = new DynamicConfigFile({ file, config, logger, onLooked });
  watched.start();
  return () => watched.stop();
}
