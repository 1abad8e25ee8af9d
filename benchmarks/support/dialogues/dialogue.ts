/** The parts of generated dialogues: sentences with slots like `{city}`, and the words for each slot. */
export interface Phrases {
  /** Between two sentences. */
  separator: string;
  slots: Record<string, string[]>;
  /** Sentences in which a user tells something, and those that end a message. */
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
