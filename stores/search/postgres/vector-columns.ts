import type { SearchLevel } from "../contract/search-index.ts";
import { realsValue } from "./wire-format.ts";

/** How a Postgres keeps vectors: by the extension pgvector, or as plain bytes that this process compares. */
export type VectorLevel = Exclude<SearchLevel, "milvus">;

interface VectorColumn {
  /** As the catalogue tells it. */
  type: (dimensions: number) => string;
  /** Several vectors, one after another, in one parameter. */
  value: (numbers: readonly number[]) => Buffer;
  /** SQL: the vector at the place `number`, from 1 on, of that parameter. */
  at: (parameter: string, dimensions: number) => string;
}

export const VECTOR_COLUMNS: Readonly<Record<VectorLevel, VectorColumn>> = {
  pgvector: {
    type: (dimensions) => `vector(${dimensions})`,
    value: realsValue,
    at: (parameter, dimensions) =>
      `((${parameter}::real[])[(number::int - 1) * ${dimensions} + 1 : number::int * ${dimensions}])::vector(${dimensions})`,
  },
  plain: {
    type: (dimensions) => `bytea CHECK ((octet_length(embedding) = ${4 * dimensions}))`,
    value: (numbers) => Buffer.from(new Float32Array(numbers).buffer),
    at: (parameter, dimensions) => `substring(${parameter}::bytea from (number::int - 1) * ${4 * dimensions} + 1 for ${4 * dimensions})`,
  },
};
