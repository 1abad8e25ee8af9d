/** The parts of generated dialogues: sentences with slots like `{city}`, and the words for each slot. */
export interface Phrases {
  separator: string;
  slots: Record<string, string[]>;
  statements: string[];
  questions: string[];
  openings: string[];
  advice: string[];
  closings: string[];
}

export interface Exchange {
  user: string;
  assistant: string;
}

export interface Dialogue {
  set: string;
  exchanges: Exchange[];
}
