import type { SearchHit } from "../../stores/search/search-index.ts";

/** What the two legs of a search found. */
export interface BothLegs {
  wordHits: SearchHit[];
  vectorHits: SearchHit[];
  /** One of them, or both, could not be searched. */
  degraded: boolean;
}

/** Waits for both legs of a search; what one cannot give the other still does, and `onError` hears why. */
export async function searchBoth(
  words: Promise<SearchHit[]>,
  vectors: Promise<SearchHit[]>,
  onError: (error: unknown) => void,
): Promise<BothLegs> {
  const legs = await Promise.allSettled([words, vectors]);
  for (const leg of legs) if (leg.status === "rejected") onError(leg.reason);
  const [wordHits = [], vectorHits = []] = legs.map((leg) => (leg.status === "fulfilled" ? leg.value : []));
  return { wordHits, vectorHits, degraded: legs.some(({ status }) => status === "rejected") };
}
