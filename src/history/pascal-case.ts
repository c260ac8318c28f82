/** As the start of an error text: `BadStartTimerAttributes`. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
