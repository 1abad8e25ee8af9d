import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from "@langchain/langgraph";
import { AppError } from "../../errors/app-error.ts";
import type { LayerJobKind } from "../../stores/jobs/job.ts";
import type { Owner, OwnerScope } from "../../turn/owner.ts";
import type { ImportStore } from "../../stores/postgres/conversations/import-store.ts";
import { ARCHIVE_SESSION, type ArchiveItem, makeArchiveItemStore } from "../../stores/postgres/memory/archive-items.ts";
import type { CoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { DEFAULT_SECTIONS, SECTION_CHARACTERS } from "../core/tool-schemas.ts";
import type { Erase } from "../erase/erase.ts";
import type { Recall } from "../recall/recall-episodes.ts";
import { fits } from "./item-filter.ts";

/** The caller opens and closes these parts. */
export interface MemoryStoreParts {
  database: Database;
  coreMemory: CoreMemoryStore;
  imports: ImportStore;
  erase: Erase;
  /** Ranks the results of a search with a `query`. Null: such a search fails. */
  recall: Recall | null;
  /** The writable sections of core memory. Default: the service's. */
  sections?: readonly string[];
  /** The jobs for new archive items. Default: they are indexed. */
  jobKinds?: readonly LayerJobKind[];
  /** Whose memory it is; `userId` null: any user's of the tenant. */
  scope: OwnerScope;
  /** The most characters of an archive item. Default 32,000. */
  maxCharacters?: number;
}

/** A user's namespaces: `[user_id, "core"]` has the sections of core memory, `[user_id, "archive"]` what is remembered beside it. */
export const MEMORY_LABELS = ["core", "archive"] as const;
type Label = (typeof MEMORY_LABELS)[number];
type SearchItem = Item & { score?: number };

/** A search also ranks exchanges, which are no items. */
const RANKED_PER_ITEM = 5;
const MOST_RANKED = 100;
const LARGEST_PAGE = 1_000;
const PATIENCE_MS = 4_000;

const invalid = (field: string, problem: string): AppError => AppError.invalid([{ field, problem }]);

/** Facts that an item shows; they may come back with the content. */
const TOLD = ["content", "version", "updated_by", "episode_type", "importance", "conversation_id"];

/** Throws AppError `invalid_request`. */
function contentOf(value: Record<string, unknown>, most: number): string {
  const { content } = value;
  if (typeof content !== "string" || content.trim() === "") throw invalid("value.content", "must be a text that is not blank");
  if (content.length > most) throw invalid("value.content", `has ${content.length} characters, at most ${most} are taken`);
  if (!content.isWellFormed() || content.includes("\0"))
    throw invalid("value.content", "holds a NUL character or half of a surrogate pair");
  const other = Object.keys(value).find((name) => !TOLD.includes(name));
  if (other !== undefined) throw invalid(`value.${other.slice(0, 80)}`, "is not kept here; put all that is to be remembered into content");
  return content;
}

const isPut = (operation: Operation): operation is PutOperation => "value" in operation;

function toArchived(namespace: string[], { key, content, episodeType, importance, conversationId, createdAt }: ArchiveItem): Item {
  const value = { content, episode_type: episodeType, importance, conversation_id: conversationId };
  return { namespace, key, value, createdAt, updatedAt: createdAt };
}

/**
 * The memory of users as a store of LangGraph, for graphs of your own. Writes keep memory's guarantees: a section of core memory has
 * versions and a history, archive items are recalled in conversations, and an erase takes both. A write replaces the version in
 * `value.version`, else any. Throws AppError.
 */
export class MemoryStore extends BaseStore {
  readonly #parts: MemoryStoreParts;

  /** Opens nothing. */
  constructor(parts: MemoryStoreParts) {
    super();
    this.#parts = parts;
  }

  /** As in LangGraph's stores, reads do not see the batch's writes, and the last write of an item counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = await Promise.all(operations.map((operation) => (isPut(operation) ? Promise.resolve(null) : this.#read(operation))));
    const writes = new Map(operations.filter(isPut).map((operation) => [JSON.stringify([operation.namespace, operation.key]), operation]));
    for (const write of writes.values()) await (write.value === null ? this.#remove(write) : this.#put(write, write.value));
    return results as OperationResults<Op>;
  }

  #read(operation: GetOperation | SearchOperation | ListNamespacesOperation): Promise<unknown> {
    if ("namespacePrefix" in operation) return this.#search(operation);
    return "key" in operation ? this.#get(operation) : this.#listNamespaces(operation);
  }

  #ownerOf(userId: string | undefined): Owner {
    const { tenantId, userId: only } = this.#parts.scope;
    const user = userId ?? only;
    if (user === null || user === "")
      throw invalid("namespace", 'must begin with the id of a user: [user_id, "core"] or [user_id, "archive"]');
    if (only !== null && user !== only) throw new AppError("not_found", "There is no such namespace, or it is another user's.");
    return { tenantId, userId: user };
  }

  #placeOf(namespace: readonly string[]): { owner: Owner; label: Label } {
    const [user, label, ...more] = namespace;
    const found = MEMORY_LABELS.find((one) => one === label);
    if (!found || more.length > 0)
      throw invalid("namespace", 'must be [user_id, "core"] or [user_id, "archive"]: nothing else is kept here');
    return { owner: this.#ownerOf(user), label: found };
  }

  get #archive() {
    return makeArchiveItemStore(this.#parts.database);
  }

  async #sections(owner: Owner): Promise<Item[]> {
    const { sections } = await this.#parts.coreMemory.load(owner);
    return sections.map(({ section: key, content, version, updatedBy, updatedAt }) => ({
      namespace: [owner.userId, "core"],
      key,
      value: { content, version, updated_by: updatedBy },
      createdAt: updatedAt,
      updatedAt,
    }));
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const { owner, label } = this.#placeOf(namespace);
    if (label === "core") return (await this.#sections(owner)).find((item) => item.key === key) ?? null;
    const item = await this.#archive.find(owner, key);
    return item && toArchived([owner.userId, label], item);
  }

  async #put({ namespace, key }: PutOperation, value: Record<string, unknown>): Promise<void> {
    const { owner, label } = this.#placeOf(namespace);
    const { sections = DEFAULT_SECTIONS, coreMemory, imports, jobKinds = ["index_episodes"], maxCharacters = 32_000 } = this.#parts;
    if (label === "core") {
      if (!sections.includes(key)) throw invalid("key", `there is no section "${key.slice(0, 80)}"; there are ${sections.join(", ")}`);
      const { version } = value;
      const expected = Number.isInteger(version) ? { expectedVersion: version as number } : {};
      await coreMemory.put(owner, { section: key, content: contentOf(value, SECTION_CHARACTERS), ...expected });
      return;
    }
    const content = contentOf(value, maxCharacters);
    if (key === "" || key.length > 200) throw invalid("key", "must have 1 to 200 characters");
    const before = await this.#archive.find(owner, key);
    if (before?.content === content) return;
    if (before) await this.#parts.erase.episode(owner, before.id);
    const messages = [{ role: "user" as const, content, createdAt: null, metadata: { external_id: key, source: "store" } }];
    await imports.import({ ...owner, sessionId: ARCHIVE_SESSION, messages, jobKinds });
  }

  async #remove({ namespace, key }: PutOperation): Promise<void> {
    const { owner, label } = this.#placeOf(namespace);
    if (label === "core") return void (await this.#parts.coreMemory.remove(owner, { section: key }));
    const item = await this.#archive.find(owner, key);
    if (item) await this.#parts.erase.episode(owner, item.id);
  }

  async #search({ namespacePrefix, filter, query, limit: most = 10, offset = 0 }: SearchOperation): Promise<SearchItem[]> {
    const [user, label, ...more] = namespacePrefix;
    if (more.length > 0) return [];
    const owner = this.#ownerOf(user);
    const limit = Math.min(most, LARGEST_PAGE);
    const isWanted = (one: Label): boolean => label === undefined || label === one;
    const end = offset + limit;
    const [core, archived] = await Promise.all([
      isWanted("core") ? this.#sections(owner) : [],
      isWanted("archive") ? this.#searchArchive(owner, query, filter ? LARGEST_PAGE : end) : [],
    ]);
    const words = query
      ?.toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== "");
    const fitting = core.filter(({ value }) => !words || words.some((word) => String(value["content"]).toLowerCase().includes(word)));
    return [...fitting, ...archived].filter(({ value }) => fits(value, filter)).slice(offset, end);
  }

  async #searchArchive(owner: Owner, query: string | undefined, most: number): Promise<SearchItem[]> {
    const namespace = [owner.userId, "archive"];
    if (!query) return (await this.#archive.list(owner, { limit: most, offset: 0 })).map((item) => toArchived(namespace, item));
    const { recall } = this.#parts;
    if (!recall) throw new AppError("index_unavailable", "Episodic memory is switched off, so nothing can be searched by meaning.");
    const limit = Math.min(MOST_RANKED, RANKED_PER_ITEM * most);
    const { episodes } = await recall({ ...owner, question: query, limit, signal: AbortSignal.timeout(PATIENCE_MS) });
    const items = new Map(
      (
        await this.#archive.findAll(
          owner,
          episodes.map(({ id }) => id),
        )
      ).map((item) => [item.id, item]),
    );
    return episodes.flatMap(({ id, score }) => {
      const item = items.get(id);
      return item ? [{ ...toArchived(namespace, item), score }] : [];
    });
  }

  /** Lists the namespaces of one user: the scope's, else the prefix's. */
  async #listNamespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const prefix = matchConditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
    const owner = this.#ownerOf(prefix[0] === "*" ? undefined : prefix[0]);
    const [core, archived] = await Promise.all([this.#sections(owner), this.#archive.list(owner, { limit: 1, offset: 0 })]);
    const all = [...(archived.length > 0 ? ["archive"] : []), ...(core.length > 0 ? ["core"] : [])].map((label) => [owner.userId, label]);
    const fitting = all.filter((namespace) =>
      matchConditions.every(({ matchType, path }) => {
        const part = matchType === "prefix" ? namespace.slice(0, path.length) : namespace.slice(-path.length);
        return path.length <= namespace.length && path.every((label, index) => label === "*" || label === part[index]);
      }),
    );
    const cut = maxDepth === undefined ? fitting : fitting.map((namespace) => namespace.slice(0, maxDepth));
    const once = [...new Map(cut.map((namespace) => [namespace.join("\0"), namespace])).values()];
    return once.slice(offset, offset + limit);
  }
}
