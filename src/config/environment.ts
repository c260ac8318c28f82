export type Substitution = { readonly text: string; readonly missing: readonly string[] };

export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}` and `${NAME:-default}`; the default also stands in for an empty value, as in a shell. */
export function substitute(text: string, env: Environment): Substitution {
  const missing: string[] = [];
  const replaced = text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, otherwise: string | undefined) => {
    const value = env[name];
    if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: replaced, missing };
}
