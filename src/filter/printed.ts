/** Parts of a query and their values, as Temporal's messages show them. */
import { isPlainName } from './lexer.ts';
import { typeName, type Literal, type Syntax } from './syntax.ts';

/** Part of a query as the parser would write it. */
export function printed(syntax: Syntax): string {
  switch (syntax.kind) {
    case 'literal':
      return printedLiteral(syntax);
    case 'name':
      return syntax.parts.map((part) => (isPlainName(part) ? part : `\`${part.replaceAll('`', '``')}\``)).join('.');
    case 'unary':
      return `${syntax.operator}${syntax.operand.kind === 'unary' ? ' ' : ''}${printed(syntax.operand)}`;
    case 'parenthesis':
      return `(${printed(syntax.inner)})`;
    case 'tuple':
      return `(${syntax.items.map(printed).join(', ')})`;
    case 'boolean':
      return String(syntax.value);
    case 'null':
      return 'null';
    case 'call':
      return `${syntax.name}(…)`;
    case 'binary':
      return `${printed(syntax.left)} ${syntax.operator} ${printed(syntax.right)}`;
    case 'listParameter':
    case 'subquery':
    case 'exists':
    case 'and':
    case 'or':
    case 'not':
    case 'comparison':
    case 'range':
    case 'is':
      return typeName(syntax);
  }
}

function printedLiteral({ type, text }: Literal): string {
  switch (type) {
    case 'string':
      return `'${Array.from(text, (char) => escaped[char] ?? char).join('')}'`;
    case 'hex':
      return `X'${text}'`;
    case 'bits':
      return `B'${text}'`;
    case 'integer':
    case 'float':
    case 'hexNumber':
    case 'parameter':
      return text;
  }
}

const escaped: Readonly<Record<string, string>> = {
  '\0': '\\0',
  "'": "\\'",
  '"': '\\"',
  '\b': '\\b',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\u001a': '\\Z',
  '\\': '\\\\',
};

/** A text in double quotes, as Go prints one. */
export function quoted(text: string): string {
  return `"${text.toWellFormed().replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, quotedChar)}"`;
}

const goEscapes: Readonly<Record<string, string>> = {
  '\u0007': 'a',
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
  '\v': 'v',
  '"': '"',
  '\\': '\\',
};

function quotedChar(char: string): string {
  const short = goEscapes[char];
  if (short !== undefined) return `\\${short}`;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}
