import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { openOpenAIEmbedder } from "../../../models/openai-embedder.ts";
import { makeBaseVectors, NEUTRAL_SENTENCES } from "../../../nodes/routing/base-vectors.ts";
import { nearnessOf } from "../../../nodes/routing/nearness.ts";
import { ROUTING_BASES } from "./routing-bases.ts";
import { routingQuestions } from "./routing-questions.ts";

// Writes routing-nearness.json anew, with the model of EMBEDDING_BASE_URL, EMBEDDING_MODEL and EMBEDDING_QUERY_MODEL: `node write-nearness.ts`.
const { EMBEDDING_BASE_URL: baseUrl, EMBEDDING_MODEL: model, EMBEDDING_QUERY_MODEL: questionModel } = process.env;
if (!baseUrl || !model) throw new Error("Set EMBEDDING_BASE_URL and EMBEDDING_MODEL to the model whose nearness is to be kept.");
const embedder = await openOpenAIEmbedder({ baseUrl, model, questionModel: questionModel || undefined, timeoutMs: 120_000 });
const vectors = await makeBaseVectors(embedder)("test", ROUTING_BASES);
const nearness: Record<string, Record<string, number>> = {};
for (const { text } of [...routingQuestions("chosen"), ...routingQuestions("reported")]) {
  const figures = nearnessOf(await embedder.embedQuestion(text), vectors);
  nearness[text] = Object.fromEntries(figures.map(({ prefix, nearness: figure }) => [prefix, Number(figure.toFixed(3))]));
}
const of = createHash("sha256")
  .update(JSON.stringify([NEUTRAL_SENTENCES, ROUTING_BASES]))
  .digest("hex");
const kept = { embedder: embedder.name, of, nearness };
await writeFile(new URL("routing-nearness.json", import.meta.url), `${JSON.stringify(kept, null, 2)}\n`);
