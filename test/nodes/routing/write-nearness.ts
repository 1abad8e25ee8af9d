import { openOpenAIEmbedder } from "../../../models/openai-embedder.ts";
import { makeBaseVectors, nearnessOf } from "../../../nodes/routing/nearness.ts";
import { readRoutingTable, ROUTING_BASES, writeRoutingTable } from "./routing-table.ts";

// Writes the figures of routing-questions.tsv anew, with the model of EMBEDDING_BASE_URL, EMBEDDING_MODEL and EMBEDDING_QUERY_MODEL.
const { EMBEDDING_BASE_URL: baseUrl, EMBEDDING_MODEL: model, EMBEDDING_QUERY_MODEL: questionModel } = process.env;
if (!baseUrl || !model) throw new Error("Set EMBEDDING_BASE_URL and EMBEDDING_MODEL to the model whose nearness is to be kept.");
const embedder = await openOpenAIEmbedder({ baseUrl, model, questionModel: questionModel || undefined, timeoutMs: 120_000 });
const vectors = await makeBaseVectors(embedder)("test", ROUTING_BASES);
const { questions } = await readRoutingTable();
for (const question of questions) question.nearest = nearnessOf(await embedder.embedQuestion(question.text), vectors);
await writeRoutingTable(embedder.name, questions);
