/** What clients may take of the gRPC port. Read at the start: it is agreed on with each connection. */
import { wholeNumber } from './dynamic-setting.ts';

const fromTheStart = { needsRestart: true } as const;

export const transportSettings = {
  connectionsMax: {
    ...wholeNumber('perdure.transport.connectionsMax', {
      min: 1,
      max: 1_000_000,
      default: 8_000,
      about: 'HTTP/2 connections of a process; beyond it new ones are refused. `GET /health` is not counted, and is answered all the same.',
    }),
    ...fromTheStart,
  },
  connectionsPerAddressMax: {
    ...wholeNumber('perdure.transport.connectionsPerAddressMax', {
      min: 1,
      max: 1_000_000,
      default: 4_000,
      about: 'The same, of one address: of a proxy, of all who come through it.',
    }),
    ...fromTheStart,
  },
  concurrentStreamsMax: {
    ...wholeNumber('perdure.transport.callsPerConnectionMax', {
      min: 100,
      max: 1_000_000,
      default: 10_000,
      about: 'Calls of a connection at a time, those that wait among them; its client keeps further ones back until one ends.',
    }),
    ...fromTheStart,
  },
};
