/** The shortest digits that mean it, as Go prints a float64. */
export function printedFloat(value: number): string {
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return value.toString();
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
