import type { EpisodeText, StoredNeighbour } from "../../stores/postgres/memory/episode-texts.ts";
import { estimateTokens } from "../../text/tokens.ts";

/** What was said right before or after a recalled exchange in the same talk. */
export type Neighbour = Pick<EpisodeText, "id" | "userMessage" | "assistantMessage" | "messageIds" | "externalIds" | "createdAt">;

/** The room of a recalled exchange with its neighbours: some 800 letters. */
const TOKENS_OF_A_BLOCK = 200;
/** Date and speakers in the prompt. */
const LABEL_TOKENS = 12;

/**
 * The exchange that ends with the last of these messages, or begins with the first; null for a turn without a whole answer and for a lone
 * answer that says nothing.
 */
function exchangeOf(messages: readonly StoredNeighbour[], side: "before" | "after"): Neighbour | null {
  const isPair = messages.length === 2 && messages[0]?.role === "user" && messages[1]?.role === "assistant";
  const said = isPair ? messages : messages.slice(...(side === "before" ? [-1] : [0, 1]));
  const [first] = said;
  if (!first || (!isPair && (first.isLive || first.content === ""))) return null;
  const contentOf = (role: StoredNeighbour["role"]): string => said.find((message) => message.role === role)?.content ?? "";
  return {
    id: first.id,
    userMessage: contentOf("user"),
    assistantMessage: contentOf("assistant"),
    messageIds: said.map(({ id }) => id),
    externalIds: said.flatMap(({ externalId }) => externalId ?? []),
    createdAt: first.createdAt,
  };
}

const tokensOf = ({ userMessage, assistantMessage }: Pick<Neighbour, "userMessage" | "assistantMessage">): number =>
  estimateTokens(userMessage) + estimateTokens(assistantMessage) + LABEL_TOKENS;

const roomLeft = (limit: number, episodes: readonly EpisodeText[]): number =>
  episodes.reduce((room, episode) => room - tokensOf(episode), limit * TOKENS_OF_A_BLOCK);

/** The first `limit` hits, and later ones that fit into the room which short hits leave. */
export function fillRoom<Hit extends { text: EpisodeText }>(found: readonly Hit[], limit: number): Hit[] {
  const best = found.slice(0, limit);
  let room = roomLeft(
    limit,
    best.map(({ text }) => text),
  );
  const more = found.slice(limit).filter(({ text }) => {
    const fits = tokensOf(text) <= room;
    if (fits) room -= tokensOf(text);
    return fits;
  });
  return [...best, ...more];
}

/**
 * The neighbours that fit for each recalled exchange, in order. Many missed exchanges share no word with the question and stand beside a
 * hit. No message comes twice, and none of `except`.
 */
export function chooseNeighbours(
  episodes: readonly EpisodeText[],
  except: ReadonlySet<string> = new Set(),
  limit = episodes.length,
): Neighbour[][] {
  const taken = new Set([...except, ...episodes.flatMap(({ messageIds }) => messageIds)]);
  let room = roomLeft(limit, episodes);
  return episodes.map(({ before, after }) => {
    const beside = [exchangeOf(after, "after"), exchangeOf(before, "before")].filter((one) => one !== null);
    const chosen = beside.filter((one) => {
      const tokens = tokensOf(one);
      if (tokens > room || one.messageIds.some((id) => taken.has(id))) return false;
      room -= tokens;
      for (const id of one.messageIds) taken.add(id);
      return true;
    });
    return chosen.toReversed();
  });
}
