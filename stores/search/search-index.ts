import { AppError } from "../../errors/app-error.ts";

/** One searchable text of an index: an episode, say. */
export interface SearchDocument {
  /** UUID derived from its source row: writing it again replaces it. */
  id: string;
  /** Its owner: see index-keys.ts. */
  ownerKey: string;
  /** UUID of what it belongs to and is erased with: a conversation, say. */
  groupId: string;
  /** The document before it in its group. */
  previousId: string | null;
  createdAt: Date;
  /** Words for keyword ranking, separated by spaces: see text/lexical-text.ts. */
  lexicalText: string;
  /** Of the dimensions of the index and of length 1. */
  embedding: readonly number[];
  /** Further columns, as the index was opened with. */
  attributes: Readonly<Record<string, string | number>>;
}

/** Which documents to search; always of one owner. */
export interface SearchFilter {
  ownerKey: string;
  groupId?: string | undefined;
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

export interface SearchHit extends Omit<SearchDocument, "embedding" | "lexicalText"> {
  /** Higher is better. */
  score: number;
}

/** An index of one kind of documents: dense vectors and BM25 over `lexicalText`. Calls throw AppError `index_unavailable`. */
export interface SearchIndex {
  readonly dimensions: number;
  /** Writes documents in one batch; repeating it changes nothing. */
  upsert(documents: readonly SearchDocument[]): Promise<void>;
  /** The nearest by cosine similarity, which is the score: -1 to 1. */
  searchVectors(filter: SearchFilter, embedding: readonly number[], limit: number): Promise<SearchHit[]>;
  /** The best by BM25 (k1 1.2, b 0.75) for the words of `lexicalQuery`, repeated words counting again; none without a common word. */
  searchWords(filter: SearchFilter, lexicalQuery: string, limit: number): Promise<SearchHit[]>;
  /** The documents of these ids that exist, in any order, with score 0. */
  fetch(ownerKey: string, ids: readonly string[]): Promise<SearchHit[]>;
  /** Removes whole groups, or single documents: later searches do not find them. Returns their number. */
  removeGroups(ownerKey: string, groupIds: readonly string[]): Promise<number>;
  remove(ownerKey: string, ids: readonly string[]): Promise<number>;
  /** Documents of an owner, or of all. */
  count(ownerKey?: string): Promise<number>;
  /** Optimises for searching after bulk writes; not needed to find them. */
  flush(): Promise<void>;
}

/** The definition of an index. */
export interface IndexDefinition {
  /** Letters, digits and underscores. */
  name: string;
  dimensions: number;
  attributes: Readonly<Record<string, "text" | "number">>;
}

/** A server or database with indexes. Whoever opens it closes it. */
export interface SearchStore {
  /** Recorded with the index. */
  readonly kind: "postgres" | "milvus";
  /** For the log; without password. */
  readonly description: string;
  /** Creates the index if needed and makes it ready to search. */
  openIndex(definition: IndexDefinition): Promise<SearchIndex>;
  /** Their names. */
  listIndexes(): Promise<string[]>;
  /** Deletes an index with its content. */
  dropIndex(name: string): Promise<void>;
  /** Resolves when the store can serve; rejects otherwise. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Returns the vector if it fits the index. Throws RangeError otherwise. */
export function checkEmbedding(embedding: readonly number[], dimensions: number): readonly number[] {
  if (embedding.length === dimensions && embedding.every(Number.isFinite)) return embedding;
  throw new RangeError(`An embedding must be ${dimensions} finite numbers; this one has ${embedding.length}.`);
}

/** Names become part of SQL and filters. Postgres cuts identifiers at 63 bytes, and derived ones add up to 16. */
const NAME = /^[a-z][a-z0-9_]{0,46}$/;
/** Fields of either store, and names inside its statements. */
const OWN_FIELDS = new Set([
  "id",
  "owner_key",
  "group_id",
  "previous_id",
  "created_at",
  "lexical_text",
  "lexical_vector",
  "lexemes",
  "word_count",
  "embedding",
  "score",
  "distance",
  "words",
  "weights",
  "matching",
]);

/** Returns the name if an index or attribute can have it. Throws TypeError otherwise. */
export function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new TypeError(`"${name.slice(0, 80)}" is no name of an index or attribute: small letters, digits and underscores, at most 47.`);
}

/** Returns the definition if every store can make the index. Throws TypeError otherwise. */
export function checkDefinition(definition: IndexDefinition): IndexDefinition {
  checkName(definition.name);
  for (const attribute of Object.keys(definition.attributes).map(checkName)) {
    if (OWN_FIELDS.has(attribute)) throw new TypeError(`The attribute "${attribute}" has the name of a field that every index has.`);
  }
  if (!Number.isInteger(definition.dimensions) || definition.dimensions < 1) {
    throw new TypeError(`An index cannot have ${definition.dimensions} dimensions.`);
  }
  return definition;
}

/** The store of an index cannot be reached: a turn goes on without memory. */
export function indexUnreachable(cause: unknown): AppError {
  return new AppError("index_unavailable", "The search index cannot be reached at the moment. Try again in a few seconds.", { cause });
}
