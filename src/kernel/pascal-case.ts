/** The form in which error texts and record types begin: `BadStartTimerAttributes`, `NamespaceRegistered`. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
