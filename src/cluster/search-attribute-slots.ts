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
 *
 * Records say which slots they give. Those of before do not, and gave an attribute that was added again its own slot: `find` is how the
 * fold gives them theirs, in the order of the records and of their entries, so that every reader of a journal finds the same. What that
 * gives may therefore never change.
 */
import { searchAttributeSlots } from '../kernel/search-attribute-slots.ts';
import type { AttributeColumn } from './records.ts';

type Holder = { readonly name: string; readonly removed: boolean };
type Holders = Map<string, Holder>;

const noHolders: ReadonlyMap<string, Holder> = new Map();
const noSlots: ReadonlyMap<string, string> = new Map();

export class SlotAssignment {
  /** By namespace id, '' = every namespace: slot → who has it. */
  readonly #holders = new Map<string, Holders>();

  /** For attributes that are to be added (name → IndexedValueType): the first that is free. Those for which none is free are left out. */
  free(namespaceId: string, attributes: ReadonlyMap<string, number>): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    const given = new Set<string>();
    for (const [name, type] of attributes) {
      const slot = this.#free(namespaceId, type, given);
      if (slot === undefined) continue;
      found.set(name, slot);
      given.add(slot);
    }
    return found;
  }

  /** Slots of attributes that were added: what the record `said`, else its own of before or the first that is free. */
  find(namespaceId: string, attributes: ReadonlyMap<string, number>, said = noSlots): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    const given = new Set(said.values());
    for (const [name, type] of attributes) {
      const slot = said.get(name) ?? this.#find(namespaceId, name, type, given);
      if (slot === undefined) continue;
      found.set(name, slot);
      given.add(slot);
    }
    return found;
  }

  add(namespaceId: string, slots: ReadonlyMap<string, string>): void {
    const holders = this.#holders.get(namespaceId) ?? new Map<string, Holder>();
    this.#holders.set(namespaceId, holders);
    for (const [name, slot] of slots) holders.set(slot, { name, removed: false });
  }

  remove(namespaceId: string, names: ReadonlySet<string>): void {
    const holders = this.#holders.get(namespaceId);
    for (const [slot, { name }] of holders ?? noHolders) if (names.has(name)) holders?.set(slot, { name, removed: true });
  }

  /** By namespace id, '' = every namespace: slots whose columns hold what removed attributes have left. */
  *removed(): Generator<readonly [namespaceId: string, slots: readonly string[]], void> {
    for (const [namespaceId, holders] of this.#holders) {
      const slots = [...holders].filter(([, { removed }]) => removed).map(([slot]) => slot);
      if (slots.length > 0) yield [namespaceId, slots];
    }
  }

  isRemoved(namespaceId: string, slot: string): boolean {
    return this.#holdersOf(namespaceId).get(slot)?.removed === true;
  }

  /** Their columns were cleared. A slot that is in use stays so. */
  purge(namespaceId: string, slots: readonly string[]): void {
    const holders = this.#holders.get(namespaceId);
    for (const slot of slots) if (holders?.get(slot)?.removed === true) holders.delete(slot);
  }

  /** Of a namespace, or of every one (''): who has what. */
  columnsOf(namespaceId: string): readonly AttributeColumn[] {
    return [...this.#holdersOf(namespaceId)].map(([slot, { name, removed }]) => ({ slot, name, isRemoved: removed }));
  }

  /** These, and no others. */
  setColumns(namespaceId: string, columns: readonly AttributeColumn[]): void {
    this.#holders.set(namespaceId, new Map(columns.map(({ slot, name, isRemoved }) => [slot, { name, removed: isRemoved }])));
  }

  /** The namespace is gone, with all its rows. */
  forget(namespaceId: string): void {
    this.#holders.delete(namespaceId);
  }

  /** Name → slot of what is defined, as a namespace sees it: its own before the cluster's of the same name. */
  slotsOf(namespaceId: string): ReadonlyMap<string, string> {
    const slots = new Map<string, string>();
    for (const owner of new Set(['', namespaceId])) {
      for (const [slot, { name, removed }] of this.#holdersOf(owner)) if (!removed) slots.set(name, slot);
    }
    return slots;
  }

  /** Slots of a type that wait to be cleared, as far as they keep the namespace ('' = every one) from defining more. */
  waiting(namespaceId: string, type: number): number {
    const slots = searchAttributeSlots.get(type) ?? [];
    const owners = this.#ownersBeside(namespaceId);
    return slots.filter((slot) => owners.some((owner) => owner.get(slot)?.removed === true)).length;
  }

  /** In an order that depends on the holders alone. */
  canonical(): unknown {
    const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
    return [...this.#holders]
      .filter(([, holders]) => holders.size > 0)
      .map(([owner, holders]) => [owner, [...holders].toSorted(byKey)] as const)
      .toSorted(byKey);
  }

  #find(namespaceId: string, name: string, type: number, given: ReadonlySet<string>): string | undefined {
    const slots = searchAttributeSlots.get(type) ?? [];
    const own = this.#holdersOf(namespaceId);
    const earlier = slots.find((slot) => own.get(slot)?.removed === true && own.get(slot)?.name === name);
    return earlier ?? this.#free(namespaceId, type, given);
  }

  #free(namespaceId: string, type: number, given: ReadonlySet<string>): string | undefined {
    const slots = searchAttributeSlots.get(type) ?? [];
    const owners = this.#ownersBeside(namespaceId);
    const isFree = (slot: string): boolean => !given.has(slot) && !owners.some((owner) => owner.has(slot));
    return namespaceId === '' ? slots.findLast(isFree) : slots.find(isFree);
  }

  /** All who have slots that a namespace cannot have. What every namespace has must be free in all of them. */
  #ownersBeside(namespaceId: string): readonly ReadonlyMap<string, Holder>[] {
    return namespaceId === '' ? [...this.#holders.values()] : [this.#holdersOf(''), this.#holdersOf(namespaceId)];
  }

  #holdersOf(owner: string): ReadonlyMap<string, Holder> {
    return this.#holders.get(owner) ?? noHolders;
  }
}
