import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { z } from "zod";
import { firstChoice } from "../../models/model-choice.ts";
import { AMENDMENTS } from "../../models/wire/amendments.ts";
import type { Dialects, ServedModel } from "../../models/wire/dialects.ts";
import { serverName } from "../../models/wire/server-address.ts";
import { ServerChatModel } from "../../models/wire/server-completions.ts";
import type { Config } from "../settings/config.ts";
import { embeddingModels, modelNames, type Models } from "../parts/open-models.ts";

const KINDS = Object.entries(AMENDMENTS)
  .map(([what, meaning]) => `\`${what}\`: ${meaning}`)
  .join("; ");

export const LearnedLesson = z.object({
  what: z
    .string()
    .describe(`What the service does since its server refused something. ${KINDS}; \`batch_of_N\`: at most N texts are embedded at once.`),
  words: z.string().describe("The server's own, cut, without keys and without what they quote of the request."),
  at: z.iso.datetime(),
});

export const USES = ["chat", "router", "summary", "memory"] as const;
export type Use = (typeof USES)[number];

/** The use whose model has this name; undefined: it only stands in MODELS. */
export const useOf = (config: Config, name: string): Use | undefined => USES.find((use) => modelNames(config)[use] === name);

/** The key of its lessons; null: built in, or not behind OpenAI's protocol. */
export const servedBy = (model: BaseChatModel | null): ServedModel | null =>
  model instanceof ServerChatModel ? model.server.served : null;

/** The model of embeddings and its server; null: built in. */
export function servedEmbedding(config: Config, { embeddingServer }: Pick<Models, "embeddingServer">): ServedModel | null {
  return embeddingServer && { server: serverName(embeddingServer.url), model: embeddingModels(config).model };
}

/** The models of one name, each of its own server. */
export function servedUnder(name: string, { config, models }: { config: Config; models: Models }): ServedModel[] {
  const uses = USES.filter((use) => modelNames(config)[use] === name);
  const listed = models.listed.includes(name) ? [firstChoice(models.choose({ model: name, agent: null })).model] : [];
  const served = [...listed, ...uses.map((use) => models[use])].flatMap((model) => servedBy(model) ?? []);
  return [...new Map(served.map((one) => [`${one.server} ${one.model}`, one])).values()];
}

/** Their lessons, as shown. */
export const lessonsOf = (dialects: Dialects, served: readonly ServedModel[]) =>
  served.flatMap((one) => dialects.of(one)).map(({ what, words, at }) => ({ what, words, at: at.toISOString() }));
