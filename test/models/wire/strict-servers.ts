import type { Amendment } from "../../../models/wire/amendments.ts";
import { chatMl, gemma, gemma3, gemma3WithTools, llama, mistralNemo, mistralSmall, mistralV1, qwen } from "./strict-templates.ts";
import { claude, deepSeek, gemini, mistralCommon, mistralCommonV3, openAi, openAiWithShortIds } from "./strict-validators.ts";
import type { Check } from "./wire-checks.ts";

export interface StrictServer {
  name: string;
  /** The amendments with which messages must be shaped for it. */
  amendments: readonly Amendment[];
  /** What its histories may have at all: a template that knows no tools or pictures is never sent any. */
  takes: { tools: boolean; pictures: boolean };
  check: Check;
}

const everything = { tools: true, pictures: true };
const noPictures = { tools: true, pictures: false };

export const STRICT_SERVERS: readonly StrictServer[] = [
  { name: "Gemma 2", amendments: ["system_in_user", "no_calls"], takes: noPictures, check: gemma },
  { name: "Gemma 3", amendments: ["no_calls"], takes: everything, check: gemma3 },
  { name: "Gemma 3 with tools", amendments: ["text_beside_calls"], takes: everything, check: gemma3WithTools },
  { name: "Mistral 7B v0.2", amendments: ["no_calls"], takes: noPictures, check: mistralV1 },
  { name: "Mistral Nemo", amendments: ["short_ids"], takes: noPictures, check: mistralNemo },
  { name: "Mistral Small 3.1", amendments: ["short_ids"], takes: everything, check: mistralSmall },
  { name: "Mistral's API", amendments: ["short_ids", "user_last"], takes: everything, check: mistralCommon },
  { name: "Mistral's models of 2024", amendments: ["short_ids", "user_last", "calls_alone"], takes: noPictures, check: mistralCommonV3 },
  { name: "Llama 3", amendments: ["single_calls"], takes: everything, check: llama },
  { name: "ChatML", amendments: ["text_beside_calls"], takes: noPictures, check: chatMl },
  { name: "Qwen 3.5", amendments: [], takes: everything, check: qwen },
  { name: "DeepSeek", amendments: ["user_last"], takes: noPictures, check: deepSeek },
  { name: "OpenAI", amendments: [], takes: everything, check: openAi },
  { name: "OpenAI's reasoning models", amendments: ["developer"], takes: everything, check: openAi },
  { name: "OpenAI, which measures ids", amendments: ["short_ids"], takes: everything, check: openAiWithShortIds },
  { name: "Claude behind a gateway", amendments: ["short_ids", "user_last"], takes: everything, check: claude },
  { name: "Gemini", amendments: ["user_last"], takes: everything, check: gemini },
];
