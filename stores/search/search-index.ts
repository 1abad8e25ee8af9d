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
