import type { Observer } from "../observe/observer.ts";
import type { Embedder } from "./embedder.ts";

/** The same embedder, each of its calls watched under the name of the model that is asked. */
export function watchedEmbedder(
  embedder: Embedder,
  { observer, model, questionModel = model }: { observer: Observer; model: string; questionModel?: string },
): Embedder {
  return {
    ...embedder,
    embedQuestion: (text, signal) =>
      observer.watch({ work: "model_call", purpose: "embed_question", model: questionModel }, () => embedder.embedQuestion(text, signal)),
    embedPassages: (texts, signal) =>
      observer.watch({ work: "model_call", purpose: "embed_passages", model }, () => embedder.embedPassages(texts, signal)),
  };
}
