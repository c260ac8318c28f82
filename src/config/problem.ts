export type Problem = {
  readonly severity: 'error' | 'warning';
  readonly file?: string;
  readonly line: number;
  readonly column: number;
  /** `global.tls.refreshInterval`; empty when the problem is the file's syntax. */
  readonly path: string;
  readonly message: string;
};

export type Path = readonly (string | number)[];

/** Notes a problem of the key at that path; an error unless said otherwise. */
export type Report = (path: Path, message: string, severity?: Problem['severity']) => void;

const printedMax = 50;

/** `server.yaml:12:7: global.metrics.prometheus.listenAdress: unknown key; did you mean listenAddress?` */
function renderProblem(file: string, problem: Problem): string {
  const where = `${problem.file ?? file}:${problem.line}:${problem.column}`;
  const message = problem.severity === 'warning' ? `warning: ${problem.message}` : problem.message;
  return problem.path === '' ? `${where}: ${message}` : `${where}: ${problem.path}: ${message}`;
}

export function renderProblems(file: string, problems: readonly Problem[]): string {
  const lines = problems.slice(0, printedMax).map((problem) => renderProblem(file, problem));
  if (problems.length > printedMax) lines.push(`${file}: and ${problems.length - printedMax} more`);
  return lines.map((line) => `${line}\n`).join('');
}

export function problemJson(file: string, { severity, line, column, path, message, ...of }: Problem): object {
  return { severity, file: of.file ?? file, line, column, key: path, message };
}

/** Sorts problems by their places in the file: people fix it from top to bottom. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
