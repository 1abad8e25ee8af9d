import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";

export type RecordingEmbedder = ReturnType<typeof makeRecordingEmbedder>;

/** The built-in embedder, which notes what it is asked. */
export function makeRecordingEmbedder() {
  const real = makeHashedEmbedder({ dimensions: 64 });
  let failure: Error | null = null;
  let before: () => Promise<void> = async () => undefined;
  const embedder = {
    ...real,
    /** The texts of each call. */
    passages: [] as string[][],
    questions: [] as string[],
    /** From now on every call fails with this; null ends that. */
    fail: (error: Error | null) => void (failure = error),
    /** Runs before each call for passages is answered. */
    beforePassages: (work: () => Promise<void>) => void (before = work),
    async embedQuestion(text: string): Promise<number[]> {
      embedder.questions.push(text);
      if (failure) throw failure;
      return real.embedQuestion(text);
    },
    async embedPassages(texts: readonly string[]): Promise<number[][]> {
      embedder.passages.push([...texts]);
      await before();
      if (failure) throw failure;
      return real.embedPassages(texts);
    },
  };
  return embedder;
}
