/** What the server file says of histories that are archived: `archival`, `namespaceDefaults` and `perdure.archival`. */
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileConfig } from './file-schema.ts';
import type { Report } from './problem.ts';

export type ArchivalOptions = {
  /** Tasks wait. */
  readonly isPaused: boolean;
  readonly isRead: boolean;
  readonly fileMode: number;
  readonly dirMode: number;
  /** Folders below which namespaces may name theirs. */
  readonly roots: readonly string[];
  readonly namespaceDefault: { readonly isEnabled: boolean; readonly uri: string };
};

/** Modes as Temporal's example has them. */
const fileModeDefault = '0666';
const dirModeDefault = '0766';

/** undefined: nothing is archived. */
export function archivalOptions(config: FileConfig, report: Report): ArchivalOptions | undefined {
  const { state = 'disabled', enableRead = false, provider } = config.archival?.history ?? {};
  const { state: defaultState = 'disabled', URI: uri = '' } = config.namespaceDefaults?.archival?.history ?? {};
  if (state === 'disabled') {
    if (enableRead || defaultState === 'enabled')
      report(['archival', 'history'], 'archival is disabled here, and all else about it means nothing', 'warning');
    return undefined;
  }
  const { filestore } = provider ?? {};
  if (filestore === undefined) {
    report(['archival', 'history', 'provider'], 'name the filestore: {filestore: {fileMode: "0666", dirMode: "0766"}}');
    return undefined;
  }
  if (defaultState === 'enabled' && uri === '')
    report(['namespaceDefaults', 'archival', 'history', 'URI'], 'is missing: file:///var/archive');
  const roots = config.perdure?.archival?.roots ?? [rootOf(uri)].filter((root) => root !== undefined);
  for (const root of roots) if (!isAbsolute(root)) report(['perdure', 'archival', 'roots'], `${root} is no absolute path`);
  return {
    isPaused: state === 'paused',
    isRead: enableRead,
    fileMode: Number.parseInt(filestore.fileMode ?? fileModeDefault, 8),
    dirMode: Number.parseInt(filestore.dirMode ?? dirModeDefault, 8),
    roots,
    namespaceDefault: { isEnabled: defaultState === 'enabled', uri },
  };
}

function rootOf(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}
