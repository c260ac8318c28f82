/**
 * Reads that whoever asked may give up: the server ends the statement then, and somebody else has the connection.
 *
 *     use ─▶ a session ─▶ statement ─────────────────────────▶ rows, or `overtime`
 *     giveUp ── another connection ─▶ pg_cancel_backend ─▲
 *
 * Should the statement have ended meanwhile, its session has no other user before the server has answered.
 */
import { DatabaseError, type Asked } from '../database-port.ts';
import type { Connections, Session } from './connections.ts';
import { isOvertime } from './postgres-failure.ts';

/** `cancelled`: whether the server has answered, so that nothing of it can meet the session's next user. */
type UnderWay = { isGivenUp: boolean; session: Session | undefined; cancelled: Promise<boolean> };

export class RevocableReads {
  readonly #connections: Connections;
  readonly #others: Pick<Connections, 'use'>;
  readonly #underWay = new Map<Asked, UnderWay>();

  /** `others`: by which the server is told that a read was given up, while all of these read. */
  constructor(connections: Connections, others: Pick<Connections, 'use'>) {
    this.#connections = connections;
    this.#others = others;
  }

  async use<Result>(asked: Asked | undefined, read: (session: Session) => Promise<Result>): Promise<Result> {
    const underWay: UnderWay = { isGivenUp: false, session: undefined, cancelled: Promise.resolve(true) };
    if (asked !== undefined) this.#underWay.set(asked, underWay);
    try {
      return await this.#connections.use(async (session) => {
        if (underWay.isGivenUp) throw new DatabaseError('overtime', 'the caller has given up');
        underWay.session = session;
        try {
          return await read(session);
        } finally {
          underWay.session = undefined;
          if (!(await underWay.cancelled)) session.cut();
        }
      });
    } catch (error) {
      if (!(error instanceof DatabaseError) || !isOvertime(error)) throw error;
      throw new DatabaseError('overtime', error.message, { cause: error });
    } finally {
      if (asked !== undefined) this.#underWay.delete(asked);
    }
  }

  async giveUp(asked: Asked): Promise<void> {
    const underWay = this.#underWay.get(asked);
    if (underWay === undefined || underWay.isGivenUp) return;
    underWay.isGivenUp = true;
    const backend = underWay.session?.backend;
    if (backend === undefined || backend === null) return;
    const cancelled = this.#others.use(async (session) => void (await session.query({ text: 'SELECT pg_cancel_backend($1)' }, [backend])));
    underWay.cancelled = cancelled.then(
      () => true,
      () => false,
    );
    await cancelled;
  }
}
