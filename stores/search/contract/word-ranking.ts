/** A word of the question; its repetitions are its weight. */
export interface AskedWord {
  word: string;
  weight: number;
  /** How many documents have it. */
  documents: number;
}

export interface WordStatistics {
  asked: readonly AskedWord[];
  /** All documents of the index and their words: in the talk of one owner few words are rare. */
  documents: number;
  words: number;
}

export interface WordCandidate {
  id: string;
  /** In words. */
  length: number;
  frequencies: readonly (readonly [word: string, frequency: number])[];
}

const K1 = 1.2;
const B = 0.75;

/** The best candidates by BM25. https://en.wikipedia.org/wiki/Okapi_BM25 */
export function rankByWords(
  { asked, documents, words }: WordStatistics,
  candidates: readonly WordCandidate[],
  limit: number,
): { id: string; score: number }[] {
  const rarity = (having: number): number => Math.log(1 + Math.max(0, documents - having + 0.5) / (having + 0.5));
  const weightOf = new Map(asked.map(({ word, weight, documents: having }) => [word, weight * rarity(having) * (K1 + 1)]));
  const averageLength = words / documents;
  const ranked = candidates.map(({ id, length, frequencies }) => {
    const damping = K1 * (1 - B + (B * length) / averageLength);
    let score = 0;
    for (const [word, frequency] of frequencies) score += ((weightOf.get(word) ?? 0) * frequency) / (frequency + damping);
    return { id, score };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1))
    .slice(0, limit);
}
