import type { EpisodeText, StoredNeighbour } from "../../stores/postgres/memory/episode-texts.ts";
import { estimateTokens } from "../../text/tokens.ts";

/** What was said right before or after a recalled exchange in the same talk. */
export type Neighbour = Pick<EpisodeText, "id" | "userMessage" | "assistantMessage" | "messageIds" | "externalIds" | "createdAt">;

/** What fills the room. `order`: the ids of hits and neighbours, what is worth most first. */
export interface Filled<Hit> {
  order: string[];
  /** In their order; their neighbours as they were said. */
  hits: { hit: Hit; neighbours: Neighbour[] }[];
}

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

/** The most tokens of messages in a prompt: what a user said tells more of them than a long answer, unless it is of the best hit. */
export const SHOWN_TOKENS = { user: 400, bestAnswer: 200, otherAnswer: 60 };

function tokensOf({ userMessage, assistantMessage }: Pick<Neighbour, "userMessage" | "assistantMessage">, isBest: boolean): number {
  const [user, answer] = [estimateTokens(userMessage), estimateTokens(assistantMessage)];
  const { [isBest ? "bestAnswer" : "otherAnswer"]: mostOfAnswer } = SHOWN_TOKENS;
  return Math.min(SHOWN_TOKENS.user, user) + Math.min(mostOfAnswer, answer) + LABEL_TOKENS;
}

/** Deviations of words, and of vectors by their weight. The best hits of most unrelated questions have less; an average hit has 0. */
const LIKELY_SCORE = 1.45;
const WEAK_SCORE = -0.5;
/** Among fewer hits scores tell little. */
const FEW = 30;

/** The first `least` hits, and all but weak ones behind them, unless even the best of `found` is unlikely to be asked for. */
export function withoutUnlikely<Hit extends { score: number }>(
  hits: readonly Hit[],
  { least, found, vectorWeight }: { least: number; found: number; vectorWeight: number },
): Hit[] {
  if (found < FEW) return [...hits];
  const isLikely = (hits[0]?.score ?? 0) >= LIKELY_SCORE * (1 + vectorWeight);
  return hits.filter(({ score }, place) => place < least || (isLikely && score > WEAK_SCORE));
}

/** The messages that are shown. An archived memory has the ids of its sources, and shows none of them. */
const shownIds = ({ id, messageIds }: Neighbour): string[] => (messageIds.includes(id) ? messageIds : [id]);

/** A step of filling: a hit by its place, or what was said right after or before it. */
type Step = readonly [place: number, what: "hit" | "after" | "before"];

/** Hits whose neighbours come before weaker hits. */
export const WITH_NEIGHBOURS = 3;
const HITS_AFTER_THE_LEAST = 2;

/** By what a token of each is worth: docs/decisions/0111. */
function stepsOf(hits: number, least: number): Step[] {
  const places = (from: number, to: number): number[] => [...Array(hits).keys()].slice(from, to);
  const hit = (from: number, to: number): Step[] => places(from, to).map((place): Step => [place, "hit"]);
  const beside = (from: number, to: number): Step[] =>
    places(from, to).flatMap((place): Step[] => [
      [place, "after"],
      [place, "before"],
    ]);
  const second = least + HITS_AFTER_THE_LEAST;
  return [
    ...[hit(0, least), beside(0, 1), hit(least, second), beside(1, WITH_NEIGHBOURS)],
    ...[hit(second, hits), beside(WITH_NEIGHBOURS, hits)],
  ].flat();
}

export interface Room {
  /** The first hits, which come however long they are. */
  least: number;
  /** Of all hits and neighbours. Default: 200 for each of the least. */
  tokens?: number | undefined;
  /** Ids of messages that are shown anyway. */
  except?: ReadonlySet<string> | undefined;
}

/**
 * Fills the room with hits and what stands beside them; what does not fit is left out. Many missed exchanges share no word with the
 * question and stand beside a hit. No message comes twice.
 */
export function fillRoom<Hit extends { text: EpisodeText }>(
  found: readonly Hit[],
  { least, tokens: most, except = new Set() }: Room,
): Filled<Hit> {
  const first = found.slice(0, least);
  const taken = new Set(except);
  let room = most ?? TOKENS_OF_A_BLOCK * first.length;
  const order: string[] = [];
  const hits = new Map<number, Hit>();
  const neighbours = new Map<number, Neighbour[]>();
  for (const [place, what] of stepsOf(found.length, least)) {
    const hit = found[place];
    if (!hit || (what !== "hit" && !hits.has(place))) continue;
    const one = what === "hit" ? hit.text : exchangeOf(hit.text[what], what);
    if (!one || shownIds(one).some((id) => taken.has(id))) continue;
    const isLeast = what === "hit" && place < least;
    const tokens = tokensOf(one, order.length === 0);
    if (!isLeast && tokens > room) continue;
    room -= tokens;
    for (const id of shownIds(one)) taken.add(id);
    order.push(one.id);
    if (what === "hit") hits.set(place, hit);
    else neighbours.set(place, what === "before" ? [one, ...(neighbours.get(place) ?? [])] : [one]);
  }
  return { order, hits: [...hits].map(([place, hit]) => ({ hit, neighbours: neighbours.get(place) ?? [] })) };
}
