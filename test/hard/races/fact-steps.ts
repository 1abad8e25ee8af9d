/** What can be said: a thing with a word in each of several languages that have nothing in common. */
export type Fact = number;
export const wordFor = (fact: Fact, language: number): string => `${["zu", "ka", "mo"][language % 3]}${fact}q`;
export const factsIn = (text: string): Fact[] => [...text.matchAll(/(?:zu|ka|mo)(\d+)q/g)].map(([, fact]) => Number(fact));
export const SECTIONS = ["profile", "goals", "preferences"];

export type Step =
  | { do: "teach"; turns: { facts: Fact[]; session: number }[]; section: number; names: "each" | "flat" | "none"; language: number }
  | { do: "reword"; line: number; fact: Fact; language: number }
  | { do: "merge"; lines: [number, number]; language: number }
  | { do: "move"; line: number; section: number; language: number; addsFirst: boolean }
  | { do: "forget"; line: number }
  | { do: "edit"; line: number; fact: Fact }
  | { do: "erase"; turn: number }
  | { do: "erase conversation"; session: number };
