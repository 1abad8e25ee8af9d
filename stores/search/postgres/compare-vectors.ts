import type { StatementValue } from "../../postgres/database/database.ts";
import type { ScoredId } from "../contract/search-index.ts";

/** Rows of one statement: some 4 ms of the event loop with 384 dimensions. */
const AT_ONCE = 2_000;
/** The newest of an owner; words alone find older ones. */
export const MOST_COMPARED = 20_000;
const ID_BYTES = 16;

/** SQL: ids and vectors of the next documents in one value, newest first, after the time and id in $6 and $7. */
export function vectorsSql(table: string, matches: string): string {
  return `
select string_agg(uuid_send(id) || embedding, ''::bytea order by created_at desc, id desc) as vectors,
  (extract(epoch from min(created_at)) * 1000)::float8 as "lastAt"
from (
  select id, created_at, embedding from ${table} ${matches} and ($6::timestamptz is null or (created_at, id) < ($6, $7::uuid))
  order by created_at desc, id desc limit ${AT_ONCE}
) as newest`;
}

export interface VectorsRow {
  vectors: Buffer | null;
  lastAt: number | null;
}

function uuidAt(bytes: Buffer, start: number): string {
  const hex = bytes.toString("hex", start, start + ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

const lengthOf = (vector: ArrayLike<number>): number => Math.hypot(...Array.from(vector));

function cosinesOf(bytes: Buffer, question: Float32Array): ScoredId[] {
  const size = ID_BYTES + 4 * question.length;
  const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const ofQuestion = lengthOf(question);
  return Array.from({ length: bytes.length / size }, (_, place) => {
    const start = (place * size + ID_BYTES) / 4;
    let [product, squares] = [0, 0];
    for (let dimension = 0; dimension < question.length; dimension++) {
      const value = floats[start + dimension] as number;
      product += value * (question[dimension] as number);
      squares += value * value;
    }
    return { id: uuidAt(bytes, place * size), score: product / (Math.sqrt(squares) * ofQuestion || 1) };
  });
}

/** The nearest of an owner's documents. `ask` runs the statement of `vectorsSql` with $6 and $7. */
export async function nearestVectors(
  embedding: readonly number[],
  limit: number,
  ask: (after: [StatementValue, StatementValue]) => Promise<VectorsRow | undefined>,
): Promise<ScoredId[]> {
  const question = new Float32Array(embedding);
  let nearest: ScoredId[] = [];
  let after: [StatementValue, StatementValue] = [null, null];
  for (let compared = 0; compared < MOST_COMPARED; compared += AT_ONCE) {
    const row = await ask(after);
    if (!row?.vectors) break;
    const scored = cosinesOf(row.vectors, question);
    nearest = [...nearest, ...scored].sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1)).slice(0, limit);
    if (scored.length < AT_ONCE) break;
    after = [new Date(row.lastAt ?? 0), (scored.at(-1) as ScoredId).id];
  }
  return nearest;
}
