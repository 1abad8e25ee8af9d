import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Embedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";

const DEADLINE_MS = 120_000;

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

const BATCH = 64;

const encode = (vector: number[]): string => Buffer.from(new Float32Array(vector).buffer).toString("base64");

function decode(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return [...new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))];
}

async function cacheEmbeddings(embedder: Embedder, folder: string): Promise<Embedder> {
  const file = path.join(folder, `${embedder.name.replace(/[^\w.-]+/g, "_")}.txt`);
  await mkdir(folder, { recursive: true });
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) => line.includes(" "));
  const known = new Map(lines.map((line) => line.split(" ", 2) as [string, string]));
  const keyOf = (kind: string, text: string): string => createHash("sha256").update(`${kind}:${text}`).digest("base64");

  async function embed(kind: string, texts: readonly string[], ask: (missing: string[]) => Promise<number[][]>): Promise<number[][]> {
    const missing = [...new Set(texts)].filter((text) => !known.has(keyOf(kind, text)));
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const added = (await ask(batch)).map((vector, index) => [keyOf(kind, batch[index] ?? ""), encode(vector)] as const);
      for (const [key, vector] of added) known.set(key, vector);
      await appendFile(file, added.map((entry) => `${entry.join(" ")}\n`).join(""));
    }
    return texts.map((text) => decode(known.get(keyOf(kind, text)) ?? ""));
  }

  return {
    ...embedder,
    async embedQuestion(text, signal) {
      const [vector = []] = await embed("question", [text], async ([missing = ""]) => [await embedder.embedQuestion(missing, signal)]);
      return vector;
    },
    embedPassages: (texts, signal) => embed("passage", texts, (missing) => embedder.embedPassages(missing, signal)),
  };
}
