/** Turns texts into vectors of length 1 whose cosine says how alike two texts are. Calls throw AppError `embedder_unavailable`. */
export interface Embedder {
  /** Recorded with the index: another model's vectors mean nothing to it. */
  readonly name: string;
  /** Numbers in a vector. */
  readonly dimensions: number;
  /** What a standard deviation of cosine counts beside one of BM25 when the two are put together: less for weak vectors. */
  readonly vectorWeight: number;
  /** Cosine from which a text can be an answer to a question without a word in common; it differs from model to model. Default 0.5. */
  readonly minSimilarity?: number;
  /** What is searched for; models that tell questions from passages embed it their way. */
  embedQuestion(text: string, signal?: AbortSignal): Promise<number[]>;
  /** What is found, in the order of the texts, any number of them. */
  embedPassages(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>;
}
