/**
 * The grammar of a query, which is that of a MySQL SELECT behind its FROM: what Temporal's server parses before it refuses most of it. So
 * it is all parsed here too, or a query that asks for too much would be called malformed.
 *
 *     query   = [ expression ] [ GROUP BY … ] [ HAVING … ] [ ORDER BY … ] [ LIMIT … ] [ ; ]
 *     or > and > not > comparison, IN, BETWEEN, LIKE, STARTS_WITH, IS > | > & > << >> > + - > * / DIV % MOD > ^ > unary
 *
 * Recursion is bounded by the nesting that Temporal allows; whatever repeats is a loop.
 */
import { fault } from './fault.ts';
import { Lexer, type Token } from './lexer.ts';
import type { QuerySyntax, Syntax } from './syntax.ts';

/** Parentheses, NOTs and signs inside each other. */
const nestingMax = 200;

const comparisons = new Set(['=', '<', '>', '<=', '>=', '!=', '<=>']);
const suffixes = new Set(['null', 'true', 'false']);
/** Binary operators by precedence, the loosest first; all bind to the left. */
const binaryLevels: readonly ReadonlySet<string>[] = [
  new Set(['|']),
  new Set(['&']),
  new Set(['<<', '>>']),
  new Set(['+', '-']),
  new Set(['*', '/', '%', 'div', 'mod']),
  new Set(['^']),
  new Set(['->', '->>']),
];
const signs = new Set(['+', '-', '~', '!', 'binary']);
/** Where one must stand. */
const operands = 'a name, a value or (';
const callKeywords = new Set(['left', 'right', 'if', 'database', 'mod', 'replace', 'substr', 'substring', 'group_concat']);
const clocks = new Set('current_timestamp current_date current_time utc_timestamp utc_time utc_date localtime localtimestamp'.split(' '));

export function parseSyntax(text: string): QuerySyntax {
  const lower = text.slice(0, 8).toLowerCase();
  const conditionless = text === '' || lower === 'order by' || lower === 'group by';
  return new Parser(`select * from table1 ${conditionless ? '' : 'where '}`, text).query();
}

class Parser {
  readonly #lexer: Lexer;
  #token: Token;
  readonly #before: number;
  #nesting = 0;

  /** `before`: Temporal's server counts it. */
  constructor(before: string, text: string) {
    this.#before = before.length;
    this.#lexer = new Lexer(before + text);
    this.#token = this.#lexer.next();
    while (this.#token.text !== 'table1') this.#advance();
    this.#advance();
  }

  query(): QuerySyntax {
    const where = this.#takeKeyword('where') ? this.#expression() : undefined;
    const clausesAt = this.#token.kind === 'keyword' ? this.#at : undefined;
    const groupBy = this.#takeBy('group') ? this.#list(() => this.#expression()) : [];
    const having = this.#takeKeyword('having');
    if (having) this.#expression();
    const orderBy = this.#takeBy('order') ? this.#list(() => this.#order()) : [];
    const limit = this.#takeKeyword('limit');
    if (limit) this.#limit();
    this.#takeOperator(';');
    if (this.#token.kind !== 'end') throw this.#unexpected('an operator, AND, OR or the end');
    return { where, groupBy, having, orderBy, limit, clausesAt };
  }

  #order(): Syntax {
    const by = this.#expression();
    if (!this.#takeKeyword('asc')) this.#takeKeyword('desc');
    return by;
  }

  #limit(): void {
    this.#expression();
    const isOffset = this.#token.kind === 'name' && this.#token.text.toLowerCase() === 'offset';
    if (!isOffset && !this.#isOperator(',')) return;
    this.#advance();
    this.#expression();
  }

  #expression(): Syntax {
    return this.#chain('or', '||', () => this.#chain('and', '&&', () => this.#negation()));
  }

  #chain(kind: 'and' | 'or', operator: string, term: () => Syntax): Syntax {
    const first = term();
    const terms = [first];
    while (this.#takeKeyword(kind) || this.#takeOperator(operator)) terms.push(term());
    return terms.length === 1 ? first : { kind, at: first.at, terms };
  }

  #negation(): Syntax {
    if (!this.#isKeyword('not')) return this.#condition();
    const at = this.#at;
    return this.#nested(() => ({ kind: 'not', at, operand: this.#negation() }));
  }

  #condition(): Syntax {
    let condition = this.#isKeyword('exists') ? this.#exists() : this.#comparison(this.#value());
    for (let operatorAt = this.#at; this.#takeKeyword('is'); operatorAt = this.#at) {
      condition = { kind: 'is', at: condition.at, operatorAt, suffix: this.#suffix(), operand: condition };
    }
    return condition;
  }

  #exists(): Syntax {
    const at = this.#at;
    this.#advance();
    this.#expectOperator('(');
    if (!this.#isKeyword('select')) throw this.#unexpected('SELECT');
    this.#skipToClosing();
    return { kind: 'exists', at };
  }

  #suffix(): string {
    const not = this.#takeKeyword('not') ? 'not ' : '';
    if (this.#token.kind !== 'keyword' || !suffixes.has(this.#token.text)) throw this.#unexpected('NULL or NOT NULL');
    return not + this.#advance().text;
  }

  #comparison(left: Syntax): Syntax {
    const operatorAt = this.#at;
    if (this.#token.kind === 'operator' && comparisons.has(this.#token.text)) {
      const operator = this.#advance().text;
      return { kind: 'comparison', at: left.at, operator, operatorAt, left, right: this.#value() };
    }
    const not = this.#takeKeyword('not');
    if (this.#takeKeyword('between')) return this.#range(left, not, operatorAt);
    const word = ['in', 'like', 'regexp', 'rlike', 'starts_with'].find((name) => this.#takeKeyword(name));
    const operator = word === 'rlike' ? 'regexp' : word;
    if (operator === undefined) {
      if (not) throw this.#unexpected('IN, BETWEEN or STARTS_WITH');
      return left;
    }
    const right = operator === 'in' ? this.#set() : this.#value();
    if (operator === 'like' && this.#takeKeyword('escape')) this.#value();
    return { kind: 'comparison', at: left.at, operator: not ? `not ${operator}` : operator, operatorAt, left, right };
  }

  #range(left: Syntax, not: boolean, operatorAt: number): Syntax {
    const low = this.#value();
    if (!this.#takeKeyword('and') && !this.#takeOperator('&&')) throw this.#unexpected('AND and the upper bound');
    return { kind: 'range', at: left.at, not, operatorAt, left, low, high: this.#value() };
  }

  /** What stands behind IN. */
  #set(): Syntax {
    if (this.#token.kind === 'listParameter') return this.#listParameter();
    if (!this.#isOperator('(')) throw this.#unexpected('a list of values in parentheses');
    const at = this.#at;
    const items = this.#parenthesised();
    return items === undefined ? { kind: 'subquery', at } : { kind: 'tuple', at, items };
  }

  #listParameter(): Syntax {
    const at = this.#at;
    this.#advance();
    return { kind: 'listParameter', at };
  }

  #value(level = 0): Syntax {
    const operators = binaryLevels[level];
    if (operators === undefined) return this.#operand();
    let left = this.#value(level + 1);
    if (operators.has('->')) return this.#path(left, operators);
    while ((this.#token.kind === 'operator' || this.#token.kind === 'keyword') && operators.has(this.#token.text)) {
      const operator = this.#advance().text;
      left = { kind: 'binary', at: left.at, operator, left, right: this.#value(level + 1) };
    }
    return left;
  }

  /** A path into a JSON column: from its name by one literal, and no further. */
  #path(left: Syntax, operators: ReadonlySet<string>): Syntax {
    if (left.kind !== 'name' || this.#token.kind !== 'operator' || !operators.has(this.#token.text)) return left;
    const operator = this.#advance().text;
    if (!this.#isLiteral()) throw this.#unexpected('a value');
    return { kind: 'binary', at: left.at, operator, left, right: this.#operand() };
  }

  #operand(): Syntax {
    const { kind, text } = this.#token;
    const at = this.#at;
    switch (kind) {
      case 'string':
      case 'integer':
      case 'float':
      case 'hexNumber':
      case 'hex':
      case 'bits':
      case 'parameter':
        this.#advance();
        return { kind: 'literal', at, type: kind, text };
      case 'name':
        return this.#name();
      case 'keyword':
        return this.#keywordOperand(text);
      case 'operator':
        if (text === '(') return this.#parenthesis();
        if (signs.has(text)) return this.#sign(text);
        throw this.#unexpected(operands);
      case 'end':
      case 'error':
      case 'stranger':
      case 'listParameter':
        throw this.#unexpected(operands);
    }
  }

  #keywordOperand(text: string): Syntax {
    const at = this.#at;
    if (text === 'binary') return this.#sign('binary ');
    if (text === 'null' || text === 'true' || text === 'false') {
      this.#advance();
      return text === 'null' ? { kind: 'null', at } : { kind: 'boolean', at, value: text === 'true' };
    }
    if (!callKeywords.has(text) && !clocks.has(text)) throw this.#unexpected(operands);
    this.#advance();
    const isCall = this.#isOperator('(');
    if (callKeywords.has(text) && !isCall) throw this.#unexpected('(');
    if (isCall) this.#arguments(callKeywords.has(text) ? 'some' : 'none');
    return { kind: 'call', at, name: text };
  }

  #name(): Syntax {
    const at = this.#at;
    const parts = [this.#advance().text];
    while (parts.length < 3 && this.#takeOperator('.')) {
      if (this.#token.kind !== 'name' && this.#token.kind !== 'keyword') throw this.#unexpected('a name');
      parts.push(this.#advance().text);
    }
    if (!this.#isOperator('(')) return { kind: 'name', at, parts };
    this.#arguments('any');
    return { kind: 'call', at, name: parts.join('.') };
  }

  /** The arguments of a function: nobody evaluates them. */
  #arguments(count: 'none' | 'some' | 'any'): void {
    this.#nested(() => {
      const distinct = count !== 'none' && this.#takeKeyword('distinct');
      if (count !== 'none' && (count === 'some' || distinct || !this.#isOperator(')'))) this.#list(() => this.#argument());
      this.#expectOperator(')');
    });
  }

  /** An argument, perhaps under another name. */
  #argument(): void {
    if (this.#takeOperator('*')) return;
    this.#expression();
    const renamed = this.#takeKeyword('as');
    if (this.#token.kind === 'name' || this.#token.kind === 'string') this.#advance();
    else if (renamed) throw this.#unexpected('a name');
  }

  #sign(operator: string): Syntax {
    const at = this.#at;
    return this.#nested(() => {
      const operand = this.#operand();
      if (operand.kind !== 'literal' || operand.type !== 'integer') return { kind: 'unary', at, operator, operand };
      if (operator === '+') return operand;
      if (operator !== '-') return { kind: 'unary', at, operator, operand };
      const text = operand.text.startsWith('-') ? operand.text.slice(1) : `-${operand.text}`;
      return { ...operand, at, text };
    });
  }

  #parenthesis(): Syntax {
    const at = this.#at;
    const items = this.#parenthesised();
    if (items === undefined) return { kind: 'subquery', at };
    const [inner] = items;
    return items.length === 1 && inner !== undefined ? { kind: 'parenthesis', at, inner } : { kind: 'tuple', at, items };
  }

  /** What stands in parentheses; undefined: a subquery. */
  #parenthesised(): readonly Syntax[] | undefined {
    return this.#nested(() => {
      if (this.#isKeyword('select')) {
        this.#skipToClosing();
        return undefined;
      }
      const items = this.#list(() => this.#expression());
      this.#expectOperator(')');
      return items;
    });
  }

  #list<Item>(item: () => Item): readonly Item[] {
    const items = [item()];
    while (this.#takeOperator(',')) items.push(item());
    return items;
  }

  /** Skips from behind an opening parenthesis to behind its closing one: nothing in between is ever used. */
  #skipToClosing(): void {
    for (let open = 1; open > 0; this.#advance()) {
      const { kind } = this.#token;
      if (kind === 'end' || kind === 'error' || kind === 'stranger') throw this.#unexpected(')');
      if (this.#isOperator('(')) open++;
      if (this.#isOperator(')')) open--;
    }
  }

  /** Takes the token that begins what is nested. */
  #nested<Result>(inner: () => Result): Result {
    this.#nesting++;
    if (this.#nesting === nestingMax) {
      const expected = `fewer than ${nestingMax} parentheses, NOTs and signs inside each other`;
      throw this.#failed('max nesting level reached', this.#token, expected);
    }
    this.#advance();
    const result = inner();
    this.#nesting--;
    return result;
  }

  #takeBy(first: 'group' | 'order'): boolean {
    if (!this.#takeKeyword(first)) return false;
    if (!this.#takeKeyword('by')) throw this.#unexpected('BY');
    return true;
  }

  #expectOperator(text: string): void {
    if (!this.#takeOperator(text)) throw this.#unexpected(text);
  }

  #takeKeyword(text: string): boolean {
    if (!this.#isKeyword(text)) return false;
    this.#advance();
    return true;
  }

  #takeOperator(text: string): boolean {
    if (!this.#isOperator(text)) return false;
    this.#advance();
    return true;
  }

  #isLiteral(): boolean {
    const { kind } = this.#token;
    return this.#isKeyword('null') || (kind !== 'name' && kind !== 'keyword' && kind !== 'operator');
  }

  #isKeyword(text: string): boolean {
    return this.#token.kind === 'keyword' && this.#token.text === text;
  }

  #isOperator(text: string): boolean {
    return this.#token.kind === 'operator' && this.#token.text === text;
  }

  #advance(): Token {
    const taken = this.#token;
    this.#token = this.#lexer.next();
    return taken;
  }

  get #at(): number {
    return this.#token.start - this.#before;
  }

  #unexpected(expected: string): Error {
    return this.#failed('syntax error', this.#token, this.#token.kind === 'error' ? 'what begins here to have an end' : expected);
  }

  #failed(what: string, token: Token, expected: string): Error {
    const near = token.kind === 'operator' || token.text === '' ? '' : ` near '${token.text}'`;
    return fault('malformed', `${what} at position ${this.#lexer.position(token)}${near}`, this.#at, expected);
  }
}
