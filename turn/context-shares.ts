/** Parts of a context in percent, 100 together. Others use what one does not need. */
export interface ContextShares {
  /** The system prompt with its instructions. */
  system: number;
  /** Core memory, summary, recalled exchanges and passages. */
  history: number;
  /** The user's message and the window before it. */
  recent: number;
  output: number;
}

export const DEFAULT_SHARES: Readonly<ContextShares> = { system: 10, history: 50, recent: 25, output: 15 };
