/** What generated dialogues are made of: sentences with slots like `{city}`, and what a slot can be. */
export interface Phrases {
  /** Between two sentences. */
  separator: string;
  slots: Record<string, string[]>;
  /** Sentences of a user who tells, and those with which a message ends. */
  statements: string[];
  questions: string[];
  openings: string[];
  advice: string[];
  closings: string[];
}

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
