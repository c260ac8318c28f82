/**
 * Which slot each custom search attribute has: in which column of its type the database keeps it (src/kernel/search-attribute-slots.ts).
 *
 *     Keyword01  Keyword02  …          …  Keyword19  Keyword20
 *     └─ a namespace's own ──▶        ◀── every namespace's ─┘
 *
 *     added ─▶ holds a slot ─▶ removed: keeps it, with what workflows have stored ─▶ column cleared ─▶ purged: free
 *
 * What an attribute has left in its column stays there when it is removed. So its slot is given to nobody, itself included, before a record
 * says that the column was cleared: whoever had it meanwhile would lose values to the clearing. One that is added again has another slot.
 */
import { searchAttributeSlots } from '../kernel/search-attribute-slots.ts';
import type { AttributeColumn } from './cluster-records.ts';

type Holders = ReadonlyMap<string, AttributeColumn>;

const noHolders: Holders = new Map();

export class SlotAssignment {
  /** The holders of slots, by namespace id ('' = every namespace): slot → attribute. */
  readonly #holders = new Map<string, Map<string, AttributeColumn>>();

  /** The first free slot for each attribute that is to be added (name → IndexedValueType). Attributes without a free slot are left out. */
  free(namespaceId: string, attributes: ReadonlyMap<string, number>): ReadonlyMap<string, string> {
    const owners = this.#ownersBeside(namespaceId);
    const found = new Map<string, string>();
    const given = new Set<string>();
    const isFree = (slot: string): boolean => !given.has(slot) && !owners.some((owner) => owner.has(slot));
    for (const [name, type] of attributes) {
      const slots = searchAttributeSlots.get(type) ?? [];
      const slot = namespaceId === '' ? slots.findLast(isFree) : slots.find(isFree);
      if (slot === undefined) continue;
      found.set(name, slot);
      given.add(slot);
    }
    return found;
  }

  add(namespaceId: string, slots: ReadonlyMap<string, string>): void {
    const holders = this.#holders.get(namespaceId) ?? new Map<string, AttributeColumn>();
    this.#holders.set(namespaceId, holders);
    for (const [name, slot] of slots) holders.set(slot, { slot, name, isRemoved: false });
  }

  remove(namespaceId: string, names: ReadonlySet<string>): void {
    const holders = this.#holders.get(namespaceId);
    for (const column of holders?.values() ?? []) if (names.has(column.name)) holders?.set(column.slot, { ...column, isRemoved: true });
  }

  /** Slots whose columns hold values of removed attributes, by namespace id ('' = every namespace). */
  *removed(): Generator<readonly [namespaceId: string, slots: readonly string[]], void> {
    for (const [namespaceId, holders] of this.#holders) {
      const slots = [...holders.values()].filter(({ isRemoved }) => isRemoved).map(({ slot }) => slot);
      if (slots.length > 0) yield [namespaceId, slots];
    }
  }

  isRemoved(namespaceId: string, slot: string): boolean {
    return this.#holdersOf(namespaceId).get(slot)?.isRemoved === true;
  }

  /** Their columns were cleared. A slot that is in use stays so. */
  purge(namespaceId: string, slots: readonly string[]): void {
    const holders = this.#holders.get(namespaceId);
    for (const slot of slots) if (holders?.get(slot)?.isRemoved === true) holders.delete(slot);
  }

  /** The columns of a namespace, or of every one (''). */
  columnsOf(namespaceId: string): readonly AttributeColumn[] {
    return [...this.#holdersOf(namespaceId).values()];
  }

  /** Sets these columns, and no others. */
  setColumns(namespaceId: string, columns: readonly AttributeColumn[]): void {
    this.#holders.set(namespaceId, new Map(columns.map((column) => [column.slot, column])));
  }

  /** The namespace is gone, with all its rows. */
  forget(namespaceId: string): void {
    this.#holders.delete(namespaceId);
  }

  /** Name → slot of what is defined, as a namespace sees it: its own before the cluster's of the same name. */
  slotsOf(namespaceId: string): ReadonlyMap<string, string> {
    const slots = new Map<string, string>();
    for (const owner of new Set(['', namespaceId])) {
      for (const { slot, name, isRemoved } of this.#holdersOf(owner).values()) if (!isRemoved) slots.set(name, slot);
    }
    return slots;
  }

  /** Slots of a type that wait to be cleared, as far as they keep the namespace ('' = every one) from defining more. */
  waiting(namespaceId: string, type: number): number {
    const slots = searchAttributeSlots.get(type) ?? [];
    const owners = this.#ownersBeside(namespaceId);
    return slots.filter((slot) => owners.some((owner) => owner.get(slot)?.isRemoved === true)).length;
  }

  /** All who have slots that a namespace cannot have. What every namespace has must be free in all of them. */
  #ownersBeside(namespaceId: string): readonly Holders[] {
    return namespaceId === '' ? [...this.#holders.values()] : [this.#holdersOf(''), this.#holdersOf(namespaceId)];
  }

  #holdersOf(owner: string): Holders {
    return this.#holders.get(owner) ?? noHolders;
  }
}
