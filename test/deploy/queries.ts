/** What a query of Prometheus names: enough of its language for the rules and panels that we ship. */
export type Named = {
  /** Of metrics, as they are exposed. */
  readonly metrics: readonly string[];
  /** In matchers, and by what it is grouped. */
  readonly labels: readonly string[];
};

const words = new Set(['by', 'on', 'or', 'and', 'unless', 'without', 'ignoring', 'bool', 'offset']);

export function namedIn(expr: string): Named {
  const labels: string[] = [];
  const note = (_: string, list: string): string => {
    labels.push(...list.split(',').map((label) => label.trim()));
    return ' ';
  };
  const rest = expr
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\{([^}]*)\}/g, (_, matchers: string) => {
      labels.push(...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label));
      return ' ';
    })
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g, note);
  const metrics = [...rest.matchAll(/(?<!\w)[a-zA-Z_]\w*(?!\w|\s*\()/g)].map(([word]) => word).filter((word) => !words.has(word));
  return { metrics: [...new Set(metrics)], labels: [...new Set(labels.filter((label) => label !== ''))] };
}
