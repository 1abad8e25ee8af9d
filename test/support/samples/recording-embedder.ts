import type { Embedder } from "../../../models/embedder.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";

/** The built-in embedder, which notes what it is asked and fails when told to. */
export interface RecordingEmbedder extends Embedder {
  /** The texts of each call that embedded passages. */
  passages: string[][];
  questions: string[];
  /** From now on every call fails with this; null ends that. */
  fail(error: Error | null): void;
  /** Runs before each call for passages is answered. */
  beforePassages(work: () => Promise<void>): void;
}

export function makeRecordingEmbedder(): RecordingEmbedder {
  const real = makeHashedEmbedder({ dimensions: 64 });
  let failure: Error | null = null;
  let before: () => Promise<void> = async () => undefined;
  const embedder: RecordingEmbedder = {
    ...real,
    passages: [],
    questions: [],
    fail: (error) => void (failure = error),
    beforePassages: (work) => void (before = work),
    async embedQuestion(text) {
      embedder.questions.push(text);
      if (failure) throw failure;
      return real.embedQuestion(text);
    },
    async embedPassages(texts) {
      embedder.passages.push([...texts]);
      await before();
      if (failure) throw failure;
      return real.embedPassages(texts);
    },
  };
  return embedder;
}
