import { AppError } from "../errors/app-error.ts";

function bad(what: string): AppError {
  return new AppError("embedder_unavailable", `The embedding model's server ${what}. Check EMBEDDING_MODEL and EMBEDDING_BASE_URL.`);
}

function lengthOne(embedding: unknown): number[] {
  if (!Array.isArray(embedding) || embedding.length === 0 || !embedding.every((value) => Number.isFinite(value))) {
    throw bad("sent something that is not a list of numbers");
  }
  const vector = embedding as number[];
  const length = Math.hypot(...vector);
  if (!(length > 0 && Number.isFinite(length))) throw bad("sent a vector without a direction");
  return vector.map((value) => value / length);
}

/**
 * The vectors of an answer of OpenAI's embeddings protocol, in the order of the texts and of length 1. Throws AppError
 * `embedder_unavailable` when there are not `count` of them, one for each text, all with as many numbers.
 */
export function readEmbeddings(answer: unknown, count: number): number[][] {
  const data = typeof answer === "object" && answer !== null && "data" in answer ? answer.data : undefined;
  if (!Array.isArray(data)) throw bad("sent something that is not an answer to an embedding request");
  if (data.length !== count) throw bad(`sent ${data.length} vectors for ${count} texts`);
  const vectors = new Array<number[] | undefined>(count).fill(undefined);
  for (const [position, item] of (data as { index?: unknown; embedding?: unknown }[]).entries()) {
    // Servers that leave the index out answer in order.
    const index = typeof item?.index === "number" ? item.index : position;
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index] !== undefined) throw bad("numbered its vectors wrongly");
    vectors[index] = lengthOne(item?.embedding);
  }
  const found = vectors.filter((vector) => vector !== undefined);
  if (found.some(({ length }) => length !== found[0]?.length)) throw bad("sent vectors of different lengths");
  return found;
}
