import type { RankedEpisode } from "./rank-episodes.ts";

/**
 * The best `limit` of these that Postgres still has, with their texts, in their order. Those behind them are read only when some are gone:
 * erased or replaced, while the index still has them.
 */
export async function loadBest<Text extends { id: string }>(
  ranked: readonly RankedEpisode[],
  limit: number,
  load: (some: readonly RankedEpisode[]) => Promise<Text[]>,
): Promise<(RankedEpisode & { text: Text })[]> {
  const texts = await load(ranked.slice(0, limit));
  if (texts.length < limit) texts.push(...(await load(ranked.slice(limit))));
  const textOf = new Map(texts.map((text) => [text.id, text]));
  return ranked
    .flatMap((episode) => {
      const text = textOf.get(episode.hit.id);
      return text ? [{ ...episode, text }] : [];
    })
    .slice(0, limit);
}
