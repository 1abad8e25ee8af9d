import { z } from "zod";
import { unquoteLines } from "../../text/fence.ts";
import { EpisodeType, WISHES } from "../../turn/state.ts";

/** CORE_MEMORY_SECTIONS adds more. */
export const DEFAULT_SECTIONS = ["profile", "preferences", "goals", "relationships", "constraints", WISHES] as const;

export const SECTION_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** Six sections of this size stay a small part of a prompt. */
export const SECTION_CHARACTERS = 2_000;

const NO_TEXT = "must be a text that is not blank";
const text = (limit: number) =>
  z
    .string(NO_TEXT)
    .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds what cannot be stored: NUL or half a surrogate pair")
    .refine((value) => [...value].length <= limit, `has more than ${limit} characters; shorten it`);

const NUMBERS = { type: "array", items: { type: "integer", minimum: 1 } } as const;
const TURNS_OF_LINES =
  "For each line of the content the numbers of the turns that it rests on: [[1], [2, 3]]. [] for a line you do not change.";

/** What a model is told of each tool, and what checks its calls. parseTurnNumbers reads `turns`. */
const memoryNumber = z.number().int().min(1).describe("The number that archival_search shows beside it.");
const archivedText = text(SECTION_CHARACTERS).refine((value) => value.trim() !== "", NO_TEXT);
const importance = z.number().min(0).max(1);
const restingOn = z
  .unknown()
  .optional()
  .meta({ ...NUMBERS, description: "The numbers of the turns that it rests on." });

export const TOOL_ARGUMENTS = {
  core_memory_update: z
    .object({
      section: text(100),
      content: text(SECTION_CHARACTERS)
        .transform(unquoteLines)
        .describe(`One fact a line, at most ${SECTION_CHARACTERS} characters. Empty to clear the section.`),
      reason: text(1_000).optional().describe("Why, in a few words."),
      turns: z.unknown().optional().meta({ type: "array", items: NUMBERS, description: TURNS_OF_LINES }),
    })
    .describe("Writes the whole new content of one section of the core memory. What is not in it any more is forgotten."),
  archival_insert: z
    .object({
      content: archivedText,
      episode_type: EpisodeType,
      importance: importance.default(0.5),
      turns: restingOn,
    })
    .describe("Keeps something worth remembering that does not belong into the core memory; it comes back when a question fits it."),
  archival_update: z
    .object({
      memory: memoryNumber,
      content: archivedText.describe("Its whole new content."),
      episode_type: EpisodeType.optional(),
      importance: importance.optional(),
      reason: text(1_000).optional().describe("Why, in a few words."),
      turns: restingOn,
    })
    .describe("Corrects an archived memory that archival_search has found."),
  archival_delete: z
    .object({ memory: memoryNumber, reason: text(1_000).optional().describe("Why, in a few words."), turns: restingOn })
    .describe("Deletes an archived memory that archival_search has found, because it is no longer true or the user wants it forgotten."),
  archival_search: z
    .object({
      query: archivedText,
      limit: z.number().int().min(1).max(20).default(5),
      episode_type: EpisodeType.optional(),
    })
    .describe("Searches the user's earlier exchanges and archived memories."),
} as const;

export type ToolName = keyof typeof TOOL_ARGUMENTS;

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(TOOL_ARGUMENTS, name);
}

export interface ToolCall {
  name: string;
  arguments: unknown;
}

export type ToolArguments<Name extends ToolName> = z.infer<(typeof TOOL_ARGUMENTS)[Name]>;

export type CheckedCall = { [Name in ToolName]: { name: Name; arguments: ToolArguments<Name> } }[ToolName];

export function checkArguments(name: ToolName, given: unknown): CheckedCall | { refused: string } {
  const parsed = TOOL_ARGUMENTS[name].safeParse(given);
  if (parsed.success) return { name, arguments: parsed.data } as CheckedCall;
  return { refused: parsed.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`).join("; ") };
}

/** The tools in OpenAI's form, for a model that may write these sections. */
export function toolDefinitions(sections: readonly string[]): object[] {
  return Object.entries(TOOL_ARGUMENTS).map(([name, schema]) => {
    const { type, description, properties = {}, required } = z.toJSONSchema(schema, { io: "input" });
    const chosen = "section" in properties ? { ...properties, section: { type: "string", enum: sections } } : properties;
    return {
      type: "function",
      function: { name, description, parameters: { type, properties: chosen, required, additionalProperties: false } },
    };
  });
}

/** The numbers for each line, and all of them; or why they are not understood. */
type TurnNumbers = { turns: readonly (readonly number[])[]; named: readonly number[] } | { refused: string };

const isNumbers = (value: unknown): value is number[] => Array.isArray(value) && value.every((one) => Number.isInteger(one));

function numbersIn(value: unknown): number[] | null {
  const given = Array.isArray(value) ? value : [value];
  const numbers = given.map((one) => (typeof one === "string" && /^\d{1,4}$/.test(one.trim()) ? Number(one) : (one as unknown)));
  return isNumbers(numbers) ? numbers : null;
}

const EXAMPLE = "Give one list of turn numbers for each line of the content, as [[1], [2, 3]], and [] for a line that you did not change.";

/** Reads `turns` leniently: a list for each line, for each new line, or one for all new lines. `count`: the turns that were read. */
export function parseTurnNumbers(given: unknown, { lines, count }: { lines: readonly { isNew: boolean }[]; count: number }): TurnNumbers {
  if (given === undefined || given === null) return { turns: lines.map(() => []), named: [] };
  const isFlat = !Array.isArray(given) || !given.some(Array.isArray);
  const lists: number[][] = [];
  for (const list of isFlat ? [numbersIn(given)] : given.map(numbersIn)) {
    if (!list) return { refused: `turns: holds something that is no number of a turn. ${EXAMPLE}` };
    const wrong = list.find((number) => number < 1 || number > count);
    if (wrong !== undefined) return { refused: `turns: there is no turn ${wrong}. They are numbered 1 to ${count}. ${EXAMPLE}` };
    lists.push(list);
  }
  const named = [...new Set(lists.flat())];
  if (lines.length === 0) return { turns: [], named };
  if (lists.length === lines.length) return { turns: lists, named };
  const newLines = lines.filter(({ isNew }) => isNew).length;
  if (lists.length === 1) return { turns: lines.map(({ isNew }) => (isNew || newLines === 0 ? named : [])), named };
  if (lists.length === newLines) {
    const next = lists.values();
    return { turns: lines.map(({ isNew }) => (isNew ? (next.next().value ?? []) : [])), named };
  }
  return { refused: `turns: has ${lists.length} lists, and the content ${lines.length} lines. ${EXAMPLE}` };
}
