import type { TurnResult } from "../../../graph/turn-event.ts";

/** In how many turns each layer of memory put something into the prompt, and in how many one that is on could not be used. */
export interface LayersAtWork {
  count(result: TurnResult): void;
  /** A sentence for the notes. */
  tell(): string;
}

export function makeLayersAtWork(): LayersAtWork {
  const counts = { summary: 0, "core memory": 0, episodes: 0, passages: 0 };
  let turns = 0;
  let degraded = 0;
  return {
    count({ receipt, degraded: layers }) {
      turns++;
      if (receipt.summary) counts.summary++;
      if (receipt.core_memory.length > 0) counts["core memory"]++;
      if (receipt.episodes.length > 0) counts.episodes++;
      if (receipt.passages.length > 0) counts.passages++;
      if (layers.length > 0) degraded++;
    },
    tell() {
      const parts = Object.entries(counts).map(([layer, count]) => `${layer} in ${count}`);
      return `Of ${turns} turns, ${parts.join(", ")}; ${degraded} were degraded.`;
    },
  };
}
