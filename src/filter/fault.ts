/**
 * What is wrong with a filter. Thrown within what parses and checks one; each language has its own way to say it.
 *
 *     WorkflowId LIKE 'x'
 *                ▲ at     message: as Temporal's server says it     expected: for people
 */
export class FilterFault extends Error {
  override readonly name = 'FilterFault';
  /** The place in the text, in UTF-16 units from 0. */
  readonly at: number;
  /** What would be right there. */
  readonly expected: string;

  constructor(message: string, at: number, expected: string) {
    super(message);
    this.at = at;
    this.expected = expected;
  }
}

const prefixes = {
  malformed: 'malformed SQL query',
  unsupported: 'operation is not supported',
  expression: 'invalid expression',
  attribute: 'invalid search attribute',
};

export function fault(kind: keyof typeof prefixes, what: string, at: number, expected: string): FilterFault {
  return new FilterFault(`${prefixes[kind]}: ${what}`, at, expected);
}
