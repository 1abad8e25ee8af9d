import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { callerOf } from "../auth/caller.ts";
import type { Memory } from "../parts/open-memory.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { Turns } from "../turns/open-turn.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest, storableText } from "../http/parse-request.ts";
import { readJson, requireJson } from "../http/read-body.ts";
import { claimedUser } from "../turns/named-user.ts";

/** As OpenAI has it. */
const MAX_TEXTS = 2_048;
const MAX_BODY_BYTES = 10 * 1024 * 1024;

const oneText = storableText.refine((text) => text.trim() !== "", "is blank; send a text");

const EmbeddingBody = z.looseObject(
  {
    model: z.string("must be a string").optional().describe("Any: the service has one embedder, which the answer names."),
    input: z.union(
      [oneText, z.array(oneText).min(1, "is empty").max(MAX_TEXTS, `has more than ${MAX_TEXTS} texts; send them in several calls`)],
      "must be a text or an array of texts that are not blank; tokens are not known here",
    ),
    encoding_format: z.enum(["float", "base64"], "must be float or base64").nullish(),
    dimensions: z.int("must be a whole number").min(1, "must be 1 or more").nullish(),
    user: z.string("must be a string").nullish(),
  },
  "must be a JSON object with input",
);

const Embeddings = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string().describe("With `base64`: 32-bit floats, little-endian.")]),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

export const embeddingOperations = operationGroup({
  tag: "OpenAI's protocol",
  schemas: { EmbeddingBody, Embeddings },
  routes: {
    createEmbeddings: route("POST /v1/embeddings", "Vectors of texts, by the service's embedder", {
      details: "Texts are embedded as passages are, up to about 400 words of each. Tokens are estimated.",
      body: jsonBody(EmbeddingBody),
      answer: Embeddings,
      errors: ["embedder_unavailable", "token_quota_exceeded", "overloaded", "shutting_down"],
    }),
  },
});

/** The first numbers of a vector, at length 1, as OpenAI's server shortens vectors. */
function shortened(vector: readonly number[], dimensions: number): number[] {
  if (dimensions === vector.length) return [...vector];
  const first = vector.slice(0, dimensions);
  const length = Math.hypot(...first) || 1;
  return first.map((value) => value / length);
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT));
  return bytes.toString("base64");
}

export function embeddingRoutes({ memory, limits, turns }: { memory: Memory; limits: Limits; turns: Turns }): Router {
  return makeRouter(embeddingOperations, {
    createEmbeddings: [
      requireJson,
      readJson(MAX_BODY_BYTES),
      limits.rates.ofUser(claimedUser),
      async (request, response) => {
        const { input, encoding_format: format, dimensions: wanted } = parseRequest(EmbeddingBody, request.body);
        const embedder = memory.episodes?.memory.embedder;
        if (!embedder) throw new AppError("embedder_unavailable", "There is no embedder: ENABLE_EPISODIC_MEMORY is false.");
        const dimensions = wanted ?? embedder.dimensions;
        if (dimensions > embedder.dimensions) {
          const problem = `the vectors of ${embedder.name} have ${embedder.dimensions} numbers; ask for at most as many`;
          throw AppError.invalid([{ field: "dimensions", problem }]);
        }
        const texts = [input].flat();
        const { tenantId, userId } = callerOf(response);
        turns.registry.assertOpen();
        const permit = await limits.admitTask({ tenantId, userId: userId ?? claimedUser(request) });
        try {
          const vectors = await embedder.embedPassages(texts, abortSignalOnClose(response));
          const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
          permit.addTokens(tokens);
          const data = vectors.map((vector, index) => {
            const embedding = shortened(vector, dimensions);
            return { object: "embedding" as const, index, embedding: format === "base64" ? toBase64(embedding) : embedding };
          });
          response.json({ object: "list", data, model: embedder.name, usage: { prompt_tokens: tokens, total_tokens: tokens } });
        } finally {
          permit.release();
        }
      },
    ],
  });
}
