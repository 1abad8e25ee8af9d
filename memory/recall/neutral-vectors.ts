import type { Embedder } from "../../models/embedder.ts";
import type { ScriptVector } from "../../models/neutral-scale.ts";
import { NEUTRAL_SENTENCES } from "../../text/neutral-sentences.ts";
import { scriptOf } from "../../text/script-of.ts";

type PassageEmbedder = Pick<Embedder, "embedPassages">;

const known = new WeakMap<PassageEmbedder, Promise<ScriptVector[]>>();

/**
 * The vectors of the neutral sentences, embedded once by each embedder for all that count with them. Nothing stops a call under way: a turn
 * that cannot wait leaves its vectors to the next. After a failure they are asked for again.
 */
export function loadNeutralVectors(embedder: PassageEmbedder): Promise<ScriptVector[]> {
  const loading =
    known.get(embedder) ??
    embedder
      .embedPassages(NEUTRAL_SENTENCES)
      .then((vectors) =>
        NEUTRAL_SENTENCES.map((text, place) => ({ script: scriptOf(text), vector: Float32Array.from(vectors[place] ?? []) })),
      );
  known.set(embedder, loading);
  loading.catch(() => known.get(embedder) === loading && known.delete(embedder));
  return loading;
}
