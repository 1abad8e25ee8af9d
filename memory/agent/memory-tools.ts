import { z } from "zod";
import { unquoteLines } from "../../text/fence.ts";
import { SECTION_CHARACTERS } from "./core-sections.ts";

const NO_TEXT = "must be a text that is not blank";
const text = (limit: number) =>
  z
    .string(NO_TEXT)
    .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds what cannot be stored: NUL or half a surrogate pair")
    .refine((value) => [...value].length <= limit, `has more than ${limit} characters; shorten it`);

const EPISODE_TYPE = z.enum(["preference", "decision", "context", "outcome"]);
const NUMBERS = { type: "array", items: { type: "integer", minimum: 1 } };

/** Arguments of the memory agent's tools, as they are checked whoever calls. */
export const TOOL_ARGUMENTS = {
  core_memory_update: z.object({
    section: text(100),
    content: text(SECTION_CHARACTERS).transform(unquoteLines),
    reason: text(1_000).optional(),
    turns: z.unknown().optional(),
  }),
  archival_insert: z.object({
    content: text(SECTION_CHARACTERS).refine((value) => value.trim() !== "", NO_TEXT),
    episode_type: EPISODE_TYPE,
    importance: z.number().min(0).max(1).default(0.5),
    turns: z.unknown().optional(),
  }),
  archival_search: z.object({
    query: text(SECTION_CHARACTERS).refine((value) => value.trim() !== "", NO_TEXT),
    limit: z.number().int().min(1).max(20).default(5),
    episode_type: EPISODE_TYPE.optional(),
  }),
} as const;

export type ToolName = keyof typeof TOOL_ARGUMENTS;

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(TOOL_ARGUMENTS, name);
}

function describe(name: ToolName, description: string, properties: object, required: string[]): object {
  return {
    type: "function",
    function: { name, description, parameters: { type: "object", properties, required, additionalProperties: false } },
  };
}

/** The tools as a model is told of them, in OpenAI's form. */
export function toolDefinitions(sections: readonly string[]): object[] {
  return [
    describe(
      "core_memory_update",
      "Writes the whole new content of one section of the core memory. What is not in it any more is forgotten.",
      {
        section: { type: "string", enum: sections },
        content: { type: "string", description: `One fact a line, at most ${SECTION_CHARACTERS} characters. Empty to clear the section.` },
        reason: { type: "string", description: "Why, in a few words." },
        turns: {
          type: "array",
          items: NUMBERS,
          description:
            "For each line of the content the numbers of the turns that it rests on: [[1], [2, 3]]. [] for a line you do not change.",
        },
      },
      ["section", "content"],
    ),
    describe(
      "archival_insert",
      "Keeps something worth remembering that does not belong into the core memory; it comes back when a question fits it.",
      {
        content: { type: "string" },
        episode_type: { type: "string", enum: EPISODE_TYPE.options },
        importance: { type: "number", minimum: 0, maximum: 1 },
        turns: { ...NUMBERS, description: "The numbers of the turns that it rests on." },
      },
      ["content", "episode_type"],
    ),
    describe(
      "archival_search",
      "Searches the user's earlier exchanges and archived memories.",
      {
        query: { type: "string" },
        limit: { type: "integer", minimum: 1, maximum: 20 },
        episode_type: { type: "string", enum: EPISODE_TYPE.options },
      },
      ["query"],
    ),
  ];
}
