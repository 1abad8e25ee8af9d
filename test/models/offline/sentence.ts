/** A message of a user and what it may change: "profile: Lives in Porto." is a line written, "-profile: Lives in Rome." one taken away. */
export interface Sentence {
  language: "English" | "Chinese";
  /** What kind of message it is: a kind of fact, or the reason why nothing may be kept. */
  kind: string;
  message: string;
  /** Lines that are known before, in the same form; nothing where it is left out. */
  known?: string[];
  expected: string[];
}

/** [kind, message, ...what it changes]. */
export type Row = [kind: string, message: string, ...expected: string[]];

/** Makes sentences of the rows of one language; a kind "change: profile: Lives in Rome." says what was known before. */
export function toSentences(language: Sentence["language"], rows: Row[]): Sentence[] {
  return rows.map(([kind, message, ...expected]) => {
    const [name = kind, ...known] = kind.split(" | ");
    return { language, kind: name, message, known, expected };
  });
}
