/** How long a scenario runs. */
export type Pace = {
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** The median of so many rounds is reported. */
  readonly rounds: number;
};
