import type { Observer } from "../../observe/observer.ts";
import type { SearchIndex, SearchStore } from "./search-index.ts";

export function observedSearchStore(store: SearchStore, observer: Observer): SearchStore {
  const watch = <Result>(operation: string, call: () => Promise<Result>): Promise<Result> =>
    observer.watch({ work: "search", store: store.kind, operation }, call);

  const watchedIndex = (index: SearchIndex): SearchIndex => ({
    dimensions: index.dimensions,
    upsert: (documents) => watch("upsert", () => index.upsert(documents)),
    searchVectors: (...search) => watch("search_vectors", () => index.searchVectors(...search)),
    searchWords: (...search) => watch("search_words", () => index.searchWords(...search)),
    fetch: (...which) => watch("fetch", () => index.fetch(...which)),
    removeGroups: (...which) => watch("remove_groups", () => index.removeGroups(...which)),
    remove: (...which) => watch("remove", () => index.remove(...which)),
    count: (ownerKey) => watch("count", () => index.count(ownerKey)),
    flush: () => watch("flush", () => index.flush()),
  });

  return {
    kind: store.kind,
    description: store.description,
    openIndex: (definition) => watch("open_index", () => store.openIndex(definition).then(watchedIndex)),
    listIndexes: () => watch("list_indexes", () => store.listIndexes()),
    dropIndex: (name) => watch("drop_index", () => store.dropIndex(name)),
    check: () => watch("check", () => store.check()),
    close: () => store.close(),
  };
}
