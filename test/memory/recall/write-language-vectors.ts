import { openOpenAIEmbedder } from "../../../models/openai-embedder.ts";
import { recordVectors } from "./language-vectors.ts";

// Records the vectors of language-pairs.tsv with the model of EMBEDDING_BASE_URL, EMBEDDING_MODEL and EMBEDDING_QUERY_MODEL.
const { EMBEDDING_BASE_URL: baseUrl, EMBEDDING_MODEL: model, EMBEDDING_QUERY_MODEL: questionModel } = process.env;
if (!baseUrl || !model) throw new Error("Set EMBEDDING_BASE_URL and EMBEDDING_MODEL to the model whose vectors are to be kept.");
await recordVectors(await openOpenAIEmbedder({ baseUrl, model, questionModel: questionModel || undefined, timeoutMs: 120_000 }));
