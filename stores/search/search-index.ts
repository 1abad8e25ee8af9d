/** One searchable text of an index: an episode, say. */
export interface SearchDocument {
  /** UUID, derived from its source row: writing it again replaces it. */
  id: string;
  /** Whose it is: see owner-key.ts. */
  ownerKey: string;
  /** UUID of what it belongs to and is erased with: a conversation, say. */
  groupId: string;
  /** Id of the one before it in its group. */
  previousId: string | null;
  createdAt: Date;
  /** Words prepared for keyword ranking, separated by spaces: see lexical-text.ts. */
  lexicalText: string;
  /** As many numbers as the index has dimensions; of length 1. */
  embedding: readonly number[];
  /** The columns that the index was opened with, besides those above. */
  attributes: Readonly<Record<string, string | number>>;
}

/** Which documents a search is about. An owner is always named. */
export interface SearchFilter {
  ownerKey: string;
  groupId?: string | undefined;
  /** From this moment on. */
  from?: Date | undefined;
  /** Before this moment. */
  until?: Date | undefined;
}

export interface SearchHit extends Omit<SearchDocument, "embedding" | "lexicalText"> {
  /** Higher is better. */
  score: number;
}

/** An index of one kind of documents: a dense column and BM25 over `lexicalText`, side by side. Calls throw AppError `index_unavailable`. */
export interface SearchIndex {
  readonly dimensions: number;
  /** Writes documents in one batch; the same ids again change nothing but what differs. */
  upsert(documents: readonly SearchDocument[]): Promise<void>;
  /** The most similar by cosine, which is the score: -1 to 1. */
  searchVectors(filter: SearchFilter, embedding: readonly number[], limit: number): Promise<SearchHit[]>;
  /** The best by BM25 (k1 1.2, b 0.75) over the words of `lexicalQuery`, a word twice counting twice; none without a word in common. */
  searchWords(filter: SearchFilter, lexicalQuery: string, limit: number): Promise<SearchHit[]>;
  /** Those of these ids that are there, in any order, with score 0. */
  fetch(ownerKey: string, ids: readonly string[]): Promise<SearchHit[]>;
  /** Removes whole groups, or single documents. What is removed is found by no search that begins afterwards. Returns how many there were. */
  removeGroups(ownerKey: string, groupIds: readonly string[]): Promise<number>;
  remove(ownerKey: string, ids: readonly string[]): Promise<number>;
  /** How many documents an owner has; of all owners without. */
  count(ownerKey?: string): Promise<number>;
  /** Makes what was written in bulk quick to search; not needed for it to be found. */
  flush(): Promise<void>;
}

/** What an index is made of. */
export interface IndexDefinition {
  /** Letters, digits and underscores. */
  name: string;
  dimensions: number;
  attributes: Readonly<Record<string, "text" | "number">>;
}

/** A server or database that keeps indexes. Whoever opens it closes it. */
export interface SearchStore {
  /** Recorded with the index: what is in one store is not in another. */
  readonly kind: "postgres" | "milvus";
  /** For the log. Holds no password. */
  readonly description: string;
  /** Creates the index if it is not there, and makes it ready to search. */
  openIndex(definition: IndexDefinition): Promise<SearchIndex>;
  /** Their names. */
  listIndexes(): Promise<string[]>;
  /** Deletes it with all that is in it. */
  dropIndex(name: string): Promise<void>;
  /** Resolves when the store can serve; rejects otherwise. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The same vector, when it has as many numbers as its index has dimensions. Throws RangeError otherwise. */
export function checkEmbedding(embedding: readonly number[], dimensions: number): readonly number[] {
  if (embedding.length === dimensions && embedding.every(Number.isFinite)) return embedding;
  throw new RangeError(`An embedding must be ${dimensions} finite numbers; this one has ${embedding.length}.`);
}

/** Names become part of SQL and of filters, and Postgres cuts identifiers at 63 bytes: the longest made of one is 16 longer. */
const NAME = /^[a-z][a-z0-9_]{0,46}$/;
/** Fields of an index in one store or the other, and what statements over it call what they work out. */
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

/** The same name, when it can be an index or an attribute. Throws TypeError otherwise. */
export function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new TypeError(`"${name.slice(0, 80)}" is no name of an index or attribute: small letters, digits and underscores, at most 47.`);
}

/** The same definition, when every store can make an index of it. Throws TypeError otherwise. */
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
