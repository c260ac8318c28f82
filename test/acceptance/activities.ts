export async function composeGreeting(name: string): Promise<string> {
  return `Hello, ${name}!`;
}
