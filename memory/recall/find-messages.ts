import { MAX } from "uuid";
import type { FoundMessage, MessageStore } from "../../stores/postgres/conversations/message-store.ts";
import type { Owner } from "../../turn/owner.ts";
import { type Cursor, encodeCursor, type Page, type PageRequest, fittingPage } from "../../stores/page.ts";
import { ownerKey } from "../../stores/index-keys.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchHit } from "../../stores/search/contract/search-index.ts";
import { lexicalText, soughtWords } from "../../text/lexical-text.ts";

/** Searches for one page: a hit may have the words only in its date, which nobody wrote. */
const MOST_SEARCHES = 5;
const END_OF_TIME = new Date("9999-01-01T00:00:00Z");

interface FindMessagesParts {
  index: Pick<EpisodeIndex, "open" | "name">;
  messages: Pick<MessageStore, "findExchanges">;
}

/**
 * Finds exchanges with all the words of a query, newest first. It returns the message of each with more of the words, or the question.
 * Throws AppError `index_unavailable`.
 */
export function makeFindMessages({ index, messages }: FindMessagesParts) {
  async function loadHits(owner: Owner, hits: readonly SearchHit[], words: readonly string[]): Promise<Map<string, FoundMessage>> {
    const exchanges = hits.map(({ id, attributes }) => [id, String(attributes["answer_id"])] as const);
    const best = new Map<string, FoundMessage>();
    for (const [id, said] of await messages.findExchanges(owner, exchanges)) {
      const has = said.map(({ message }) => {
        const own = new Set(lexicalText(message.content).split(" "));
        return words.filter((word) => own.has(word));
      });
      if (new Set(has.flat()).size < words.length) continue;
      const most = Math.max(...has.map(({ length }) => length));
      const chosen = said[has.findIndex(({ length }) => length === most)];
      if (chosen) best.set(id, chosen);
    }
    return best;
  }

  return async function findMessages(owner: Owner, query: string, { limit, after }: PageRequest): Promise<Page<FoundMessage>> {
    const words = soughtWords(query);
    if (words.length === 0) return { items: [], next: null };
    const opened = await index.open(await index.name());
    const key = ownerKey(owner.tenantId, owner.userId);
    const found: { message: FoundMessage; place: Cursor }[] = [];
    let before: Cursor | null = after ?? { createdAt: END_OF_TIME, id: MAX };
    for (let search = 0; search < MOST_SEARCHES && before && found.length <= limit; search++) {
      const hits = await opened.listByWords(key, words, before, limit + 1);
      const best = await loadHits(owner, hits, words);
      found.push(
        ...hits.flatMap(({ id, createdAt }) => (best.has(id) ? { message: best.get(id) as FoundMessage, place: { createdAt, id } } : [])),
      );
      const last = hits.at(-1);
      before = last && hits.length > limit ? { createdAt: last.createdAt, id: last.id } : null;
    }
    const page = fittingPage(found.slice(0, limit));
    const end = page.length < found.length ? page.at(-1)?.place : before;
    return { items: page.map(({ message }) => message), next: end ? encodeCursor(end) : null };
  };
}

export type FindMessages = ReturnType<typeof makeFindMessages>;
