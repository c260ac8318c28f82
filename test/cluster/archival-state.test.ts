/** As Temporal's state machine of namespaces decides it (common/namespace/archival_config_state_machine.go). */
import { expect, test } from 'vitest';
import { type ArchivalState, nextArchivalState, otherUri } from '../../src/cluster/archival-state.ts';

const states = {
  'enabled, a URI': { isEnabled: true, uri: 'file:///a' },
  'disabled, a URI': { isEnabled: false, uri: 'file:///a' },
  'disabled, none': { isEnabled: false, uri: '' },
} as const;

type Asked = 'enabled' | 'disabled' | undefined;
type Row = readonly [keyof typeof states, Asked, uri: string, ArchivalState | typeof otherUri];

const enabled = { isEnabled: true, uri: 'file:///a' };
const disabled = { isEnabled: false, uri: 'file:///a' };
const none = { isEnabled: false, uri: '' };

const rows: readonly Row[] = [
  ['enabled, a URI', 'enabled', '', enabled],
  ['enabled, a URI', 'enabled', 'file:///a', enabled],
  ['enabled, a URI', 'enabled', 'file:///b', otherUri],
  ['enabled, a URI', 'disabled', '', disabled],
  ['enabled, a URI', 'disabled', 'file:///a', disabled],
  ['enabled, a URI', 'disabled', 'file:///b', otherUri],
  ['enabled, a URI', undefined, '', enabled],
  ['enabled, a URI', undefined, 'file:///a', enabled],
  ['enabled, a URI', undefined, 'file:///b', otherUri],
  ['disabled, a URI', 'enabled', '', enabled],
  ['disabled, a URI', 'enabled', 'file:///a', enabled],
  ['disabled, a URI', 'enabled', 'file:///b', otherUri],
  ['disabled, a URI', 'disabled', '', disabled],
  ['disabled, a URI', 'disabled', 'file:///a', disabled],
  ['disabled, a URI', 'disabled', 'file:///b', otherUri],
  ['disabled, a URI', undefined, '', disabled],
  ['disabled, a URI', undefined, 'file:///a', disabled],
  ['disabled, a URI', undefined, 'file:///b', otherUri],
  ['disabled, none', 'enabled', '', { isEnabled: true, uri: 'file:///default' }],
  ['disabled, none', 'enabled', 'file:///a', enabled],
  ['disabled, none', 'disabled', '', none],
  ['disabled, none', 'disabled', 'file:///a', disabled],
  ['disabled, none', undefined, '', none],
  ['disabled, none', undefined, 'file:///a', disabled],
];

test.each(rows)('%s: %s, %s', (name, asked, uri, expected) => {
  const state = states[name];
  const isEnabled = asked === undefined ? undefined : asked === 'enabled';
  const next = nextArchivalState(state, { isEnabled, uri, defaultUri: 'file:///default' });
  expect(next).toEqual(expected);
  // Nothing is journaled where nothing changes.
  if (JSON.stringify(state) === JSON.stringify(expected)) expect(next).toBe(state);
});
