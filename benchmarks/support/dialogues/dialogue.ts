/** One user message and the assistant text that followed it. */
export interface Exchange {
  user: string;
  assistant: string;
}

/** A long conversation for a benchmark to play. */
export interface Dialogue {
  /** The data set it is from. */
  set: string;
  exchanges: Exchange[];
}
