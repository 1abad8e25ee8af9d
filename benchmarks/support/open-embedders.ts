import type { Embedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/hashed-embedder.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { cacheEmbeddings } from "./cached-embedder.ts";

const DEADLINE_MS = 120_000;

/** The built-in embedder and, when the environment names its server, a real one. */
export async function openEmbedders(): Promise<Embedder[]> {
  const builtIn = makeHashedEmbedder({});
  const { EMBEDDING_BASE_URL: baseUrl, EMBEDDING_MODEL: model, EMBEDDING_QUERY_MODEL: questionModel } = process.env;
  if (!baseUrl || !model) {
    process.stdout.write(
      "Without EMBEDDING_BASE_URL and EMBEDDING_MODEL (and EMBEDDING_QUERY_MODEL) only the built-in embedder is measured.\n",
    );
    return [builtIn];
  }
  const real = await openOpenAIEmbedder({ baseUrl, model, questionModel: questionModel || undefined, timeoutMs: DEADLINE_MS });
  const folder = process.env["BENCH_EMBEDDING_CACHE"];
  return [builtIn, folder ? await cacheEmbeddings(real, folder) : real];
}
