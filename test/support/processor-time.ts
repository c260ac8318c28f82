/** Processor time that `work` takes, in milliseconds: another program on the machine takes none of it. */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
