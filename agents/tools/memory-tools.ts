import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { SECTION_CHARACTERS } from "../../memory/core/tool-schemas.ts";
import type { Recall, RecalledEpisode } from "../../memory/recall/recall-episodes.ts";
import type { Owner } from "../../turn/owner.ts";
import type { CoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { SavedMemoryStore } from "../../stores/postgres/memory/saved-memory-store.ts";
import { shortenText } from "../../text/tokens.ts";
import { ToolError } from "../run-tool-call.ts";
import { type AgentTool, turnOf } from "../tool.ts";

export interface MemoryToolParts {
  /** Null: episodic memory is off. */
  recall: Recall | null;
  saved: SavedMemoryStore;
  /** Null: core memory is off. */
  coreMemory: Pick<CoreMemoryStore, "putForAgent"> | null;
  sections: readonly string[];
}

/** The limit for each found message. */
const FOUND_TOKENS = 300;

function describe({ createdAt, episodeType, importance, userMessage, assistantMessage }: RecalledEpisode): string {
  const head = `[${createdAt.toISOString().slice(0, 10)}, ${episodeType}, importance ${importance}]`;
  const said = [userMessage, assistantMessage && `Answer: ${assistantMessage}`].filter((text) => text !== "");
  return [head, ...said.map((text) => shortenText(text, FOUND_TOKENS))].join("\n");
}

/** The owner's earlier exchanges and saved memories, in words. Throws ToolError. */
export async function searchMemory(
  recall: Recall | null,
  owner: Owner,
  { query: question, limit, signal }: { query: string; limit: number; signal: AbortSignal | undefined },
): Promise<string> {
  if (!recall) throw new ToolError("memory_off", "Episodic memory is switched off.", "Answer without it.");
  const { episodes, degraded } = await recall({ ...owner, question, limit, ...(signal ? { signal } : {}) });
  if (degraded && episodes.length === 0)
    throw new ToolError("index_unavailable", "Memory cannot be searched at the moment.", "Try again later, or answer without it.");
  return episodes.length === 0 ? "Nothing was found." : episodes.map(describe).join("\n\n");
}

const text = (most: number) => z.string().trim().min(1).max(most);

/** The tools that read and write the memory of the turn's user. */
export function makeMemoryTools({ recall, saved, coreMemory, sections }: MemoryToolParts): AgentTool[] {
  const search: AgentTool = {
    name: "memory_search",
    isHarmless: true,
    onlyReads: true,
    tool: tool(
      async ({ query, limit }, config: RunnableConfig) => {
        const { tenantId, userId } = turnOf(config);
        return searchMemory(recall, { tenantId, userId }, { query, limit, signal: config.signal });
      },
      {
        name: "memory_search",
        description: "Searches what this user has said and been told in earlier conversations.",
        schema: z.strictObject({ query: text(2_000), limit: z.int().min(1).max(20).default(5) }),
      },
    ),
  };
  const save: AgentTool = {
    name: "memory_save",
    isHarmless: true,
    onlyReads: false,
    tool: tool(
      async ({ content, importance }, config: RunnableConfig) => {
        const { tenantId, userId, conversationId, messageId } = turnOf(config);
        const isNew = await saved.save({ tenantId, userId, conversationId }, { content, importance, messageId });
        return isNew ? "Saved. It comes back when a question fits it." : "That is remembered already.";
      },
      {
        name: "memory_save",
        description: "Keeps something about this user, or for this user, that is worth remembering in later conversations.",
        schema: z.strictObject({ content: text(SECTION_CHARACTERS), importance: z.number().min(0).max(1).default(0.5) }),
      },
    ),
  };
  const update: AgentTool = {
    name: "core_memory_update",
    isHarmless: true,
    onlyReads: false,
    tool: tool(
      async ({ section, content }, config: RunnableConfig) => {
        if (!coreMemory) throw new ToolError("memory_off", "Core memory is switched off.", "Do without it.");
        const { tenantId, userId, conversationId, messageId } = turnOf(config);
        const written = await coreMemory.putForAgent({ tenantId, userId, conversationId }, { section, content, messageId });
        return `The section "${section}" is written, as version ${written.version}.`;
      },
      {
        name: "core_memory_update",
        description: "Writes the whole new content of one section of what is always known about this user, one fact a line.",
        schema: z.strictObject({
          section: z.enum(sections as [string, ...string[]]),
          content: z.string().max(SECTION_CHARACTERS),
        }),
      },
    ),
  };
  return [search, save, ...(sections.length > 0 ? [update] : [])];
}
