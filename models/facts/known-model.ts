import type { ModelProfile } from "@langchain/core/language_models/profile";

export const CAPABILITIES = [
  { name: "tools", field: "toolCalling" },
  { name: "json", field: "structuredOutput" },
  { name: "reasoning", field: "reasoningOutput" },
  { name: "images", field: "imageInputs" },
  { name: "pdf", field: "pdfInputs" },
  { name: "audio", field: "audioInputs" },
  { name: "video", field: "videoInputs" },
] as const satisfies readonly { name: string; field: keyof ModelProfile }[];
export type Capability = (typeof CAPABILITIES)[number]["name"];

/** `context` and `output` are in tokens. */
export interface KnownModel {
  context: number;
  output?: number;
  can: readonly Capability[];
}
