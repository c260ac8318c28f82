/** Why a query is refused: Temporal's text, behind `invalid query: `. Thrown inside this folder alone. */
export class InvalidQuery extends Error {
  override readonly name = 'InvalidQuery';
}

const prefixes = {
  malformed: 'malformed SQL query',
  unsupported: 'operation is not supported',
  expression: 'invalid expression',
  attribute: 'invalid search attribute',
};

export function invalid(kind: keyof typeof prefixes, what: string): InvalidQuery {
  return new InvalidQuery(`${prefixes[kind]}: ${what}`);
}
