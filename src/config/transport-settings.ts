/** What clients may take of the gRPC port. Read at the start: it is agreed on with each connection. */
import { wholeNumber } from './dynamic-setting.ts';

export const transportSettings = {
  connectionsMax: wholeNumber('perdure.transport.connectionsMax', {
    needsRestart: true,
    range: [1, 1_000_000],
    default: 8_000,
    about: 'HTTP/2 connections of a process; beyond this limit new ones are refused. `GET /health` is not counted, and is always answered.',
  }),
  connectionsPerAddressMax: wholeNumber('perdure.transport.connectionsPerAddressMax', {
    needsRestart: true,
    range: [1, 1_000_000],
    default: 4_000,
    about: 'HTTP/2 connections from one address; beyond this limit new ones are refused. All clients behind a proxy share its address.',
  }),
  concurrentStreamsMax: wholeNumber('perdure.transport.callsPerConnectionMax', {
    needsRestart: true,
    range: [100, 1_000_000],
    default: 10_000,
    about: 'Calls of a connection at a time, waiting ones included; its client sends more when one has ended.',
  }),
};
