import { AppError } from "../../../errors/app-error.ts";
import type { Observer } from "../../../observe/observer.ts";
import type { Cursor } from "../../page.ts";
import type { Script } from "../../../text/script-of.ts";

export interface SearchDocument {
  /** Derived from its source row: writing it again replaces it. */
  id: string;
  /** See index-keys.ts. */
  ownerKey: string;
  /** Such as a conversation: they are erased together. */
  groupId: string;
  previousId: string | null;
  createdAt: Date;
  /** See text/lexical-text.ts. */
  lexicalText: string;
  /** A vector of length 1. */
  embedding: readonly number[];
  attributes: Readonly<Record<string, string | number>>;
}

export interface SearchFilter {
  ownerKey: string;
  groupId?: string | undefined;
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
  /** Values of the index's `type`. */
  types?: readonly string[] | undefined;
}

export interface SearchHit extends Omit<SearchDocument, "embedding" | "lexicalText"> {
  score: number;
  /** The script of most of its words. */
  script: Script;
}

/** Where vectors are: Milvus, Postgres with pgvector, or plain Postgres. Words are in Postgres. */
export type SearchLevel = "milvus" | "pgvector" | "plain";

/** Dense vectors, and BM25 over `lexicalText`. Calls throw AppError `index_unavailable`. */
export interface SearchIndex {
  readonly dimensions: number;
  /** One batch; repeating it changes nothing. */
  upsert(documents: readonly SearchDocument[]): Promise<void>;
  /** The score is the cosine similarity. */
  searchVectors(filter: SearchFilter, embedding: readonly number[], limit: number): Promise<SearchHit[]>;
  /** By BM25 (k1 1.2, b 0.75); repeated words of the query count again. */
  searchWords(filter: SearchFilter, lexicalQuery: string, limit: number): Promise<SearchHit[]>;
  /** Lists entries with all the words before a place, newest first; their score is 0. */
  listByWords(ownerKey: string, words: readonly string[], before: Cursor, limit: number): Promise<SearchHit[]>;
  /** In any order, with score 0. */
  fetch(ownerKey: string, ids: readonly string[]): Promise<SearchHit[]>;
  /** Later searches do not find them. Returns their number. */
  removeGroups(ownerKey: string, groupIds: readonly string[]): Promise<number>;
  remove(ownerKey: string, ids: readonly string[]): Promise<number>;
  count(ownerKey?: string): Promise<number>;
  /** Optimises for searching after bulk writes. */
  flush(): Promise<void>;
}

export interface ScoredId {
  id: string;
  score: number;
}

/** The vectors of an index whose words and attributes Postgres has. */
export interface VectorIndex extends Pick<SearchIndex, "upsert" | "removeGroups" | "remove" | "count" | "flush"> {
  /** The score is the cosine similarity. */
  nearest(filter: SearchFilter, embedding: readonly number[], limit: number): Promise<ScoredId[]>;
}

export interface IndexDefinition {
  name: string;
  dimensions: number;
  attributes: Readonly<Record<string, "text" | "number">>;
  /** The attribute that the filter's `types` compares. Default: no entry has a type. */
  type?: string;
}

/** A server or database with indexes. Whoever opens it closes it. */
export interface SearchStore {
  readonly kind: "postgres" | "milvus";
  readonly level: SearchLevel;
  /** Without password. */
  readonly description: string;
  /** The level of an index; the store's own when there is no index of the name. */
  levelOf(name: string): Promise<SearchLevel>;
  openIndex(definition: IndexDefinition): Promise<SearchIndex>;
  listIndexes(): Promise<string[]>;
  dropIndex(name: string): Promise<void>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Throws RangeError unless the vector fits the index. */
export function checkEmbedding(embedding: readonly number[], dimensions: number): readonly number[] {
  if (embedding.length === dimensions && embedding.every(Number.isFinite)) return embedding;
  throw new RangeError(`An embedding must be ${dimensions} finite numbers; this one has ${embedding.length}.`);
}

/** Names become part of SQL and filters. Postgres cuts identifiers at 63 bytes, and derived ones add up to 16. */
const NAME = /^[a-z][a-z0-9_]{0,46}$/;
/** Also names inside statements. */
const OWN_FIELDS = `id owner_key group_id previous_id created_at lexical_text lexical_vector lexemes word_count embedding
script score distance matching`.split(/\s/);

/** Throws TypeError unless an index or attribute can have the name. */
export function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new TypeError(`"${name.slice(0, 80)}" is no name of an index or attribute: small letters, digits and underscores, at most 47.`);
}

/** Throws TypeError unless every store can make the index. */
export function checkDefinition(definition: IndexDefinition): IndexDefinition {
  checkName(definition.name);
  for (const attribute of Object.keys(definition.attributes).map(checkName)) {
    if (OWN_FIELDS.includes(attribute)) throw new TypeError(`The attribute "${attribute}" has the name of a field that every index has.`);
  }
  if (!Number.isInteger(definition.dimensions) || definition.dimensions < 1) {
    throw new TypeError(`An index cannot have ${definition.dimensions} dimensions.`);
  }
  return definition;
}

/** A turn goes on without memory. */
export function indexUnreachable(cause: unknown): AppError {
  return new AppError("index_unavailable", "The search index cannot be reached at the moment. Try again in a few seconds.", { cause });
}

export function observedSearchStore(store: SearchStore, observer: Observer): SearchStore {
  const watch = <Result>(operation: string, call: () => Promise<Result>): Promise<Result> =>
    observer.watch({ work: "search", store: store.kind, operation }, call);

  const watchedIndex = (index: SearchIndex): SearchIndex => ({
    dimensions: index.dimensions,
    upsert: (documents) => watch("upsert", () => index.upsert(documents)),
    searchVectors: (...search) => watch("search_vectors", () => index.searchVectors(...search)),
    searchWords: (...search) => watch("search_words", () => index.searchWords(...search)),
    listByWords: (...search) => watch("list_by_words", () => index.listByWords(...search)),
    fetch: (...which) => watch("fetch", () => index.fetch(...which)),
    removeGroups: (...which) => watch("remove_groups", () => index.removeGroups(...which)),
    remove: (...which) => watch("remove", () => index.remove(...which)),
    count: (ownerKey) => watch("count", () => index.count(ownerKey)),
    flush: () => watch("flush", () => index.flush()),
  });

  return {
    kind: store.kind,
    level: store.level,
    description: store.description,
    levelOf: (name) => watch("level_of", () => store.levelOf(name)),
    openIndex: (definition) => watch("open_index", () => store.openIndex(definition).then(watchedIndex)),
    listIndexes: () => watch("list_indexes", () => store.listIndexes()),
    dropIndex: (name) => watch("drop_index", () => store.dropIndex(name)),
    check: () => watch("check", () => store.check()),
    close: () => store.close(),
  };
}
