/**
 * What another process derives from a journal: it reads on from its position, through the one `effective()`, and stores rows and position
 * together. A copy of it that was delayed writes too, and must be refused when it is behind (T8, T11).
 */
import { effective, mayReplace } from '../../src/actors/ownership/effective.ts';
import { jsonClaims } from '../actors/ledger.ts';
import type { LogCursor, LogPosition } from '../../src/actors/ownership/effective.ts';
import type { PartitionId } from '../../src/ports/log.ts';
import type { SimBroker } from './sim-log.ts';

type Stored = { readonly position: LogPosition; readonly rows: readonly string[] };

export class Projection {
  #stored: Stored | undefined;
  refused = 0;
  readonly #broker: SimBroker;
  readonly #id: PartitionId;

  constructor(broker: SimBroker, id: PartitionId) {
    this.#broker = broker;
    this.#id = id;
  }

  get position(): LogPosition | undefined {
    return this.#stored?.position;
  }

  set position(position: LogPosition) {
    this.#stored = { position, rows: [] };
  }

  get rows(): readonly string[] {
    return this.#stored?.rows ?? [];
  }

  /** Reads on, up to `recordsMax`; what was read is stored when the transaction is run. */
  read(recordsMax: number): () => void {
    const cursor: LogCursor = { ...(this.#stored?.position ?? { epoch: 0, sequence: 0, offset: 0 }) };
    const rows = [...this.rows];
    for (const record of this.#broker.records(this.#id).slice(cursor.offset, cursor.offset + recordsMax)) {
      if (effective(cursor, record, jsonClaims) === 'record') rows.push(record.workflowId);
    }
    return () => {
      if (mayReplace(this.#stored?.position, cursor)) this.#stored = { position: cursor, rows };
      else this.refused += 1;
    };
  }
}
