/** The same vector, when it has as many numbers as its index has dimensions. Throws RangeError otherwise. */
export function checkEmbedding(embedding: readonly number[], dimensions: number): readonly number[] {
  if (embedding.length === dimensions && embedding.every(Number.isFinite)) return embedding;
  throw new RangeError(`An embedding must be ${dimensions} finite numbers; this one has ${embedding.length}.`);
}
