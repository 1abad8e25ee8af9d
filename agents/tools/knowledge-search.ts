import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { FindPassages } from "../../memory/documents/find-passages.ts";
import type { KnowledgeCatalog } from "../../stores/knowledge-catalog.ts";
import { ToolError } from "../run-tool-call.ts";
import { type AgentTool, turnOf } from "../tool.ts";

export interface KnowledgeSearchParts {
  find: FindPassages;
  catalog: KnowledgeCatalog;
  /** Passages of each base. */
  limit: number;
}

const MAX_BASES = 20;

/** Passages of one or all knowledge bases of the tenant, in words. Throws ToolError. */
export async function searchKnowledge(
  { find, catalog, limit }: KnowledgeSearchParts,
  tenantId: string,
  { query: question, kb, signal }: { query: string; kb: string | undefined; signal: AbortSignal | undefined },
): Promise<string> {
  const bases = (await catalog.list(tenantId)).map(({ prefix }) => prefix);
  if (kb !== undefined && !bases.includes(kb))
    throw new ToolError(
      "unknown_knowledge_base",
      `There is no knowledge base "${kb}".`,
      `Use one of these: ${bases.join(", ") || "there is none"}.`,
    );
  const searched = kb === undefined ? bases.slice(0, MAX_BASES) : [kb];
  const options = { tenantId, question, by: "hybrid" as const, limit, ...(signal ? { signal } : {}) };
  const found = await Promise.all(searched.map(async (prefix) => ({ prefix, ...(await find({ ...options, prefix })) })));
  const passages = found.flatMap((base) => base.passages.map((passage) => ({ ...passage, prefix: base.prefix })));
  if (passages.length === 0 && found.some(({ degraded }) => degraded))
    throw new ToolError("index_unavailable", "The documents cannot be searched at the moment.", "Try again later, or answer without them.");
  if (passages.length === 0) return "Nothing was found.";
  return passages
    .map(({ prefix, title, heading, text }) => `[${[prefix, title, heading].filter((part) => part !== "").join(" / ")}]\n${text}`)
    .join("\n\n");
}

export const makeKnowledgeSearch = (parts: KnowledgeSearchParts): AgentTool => ({
  name: "knowledge_search",
  isHarmless: true,
  onlyReads: true,
  readsOn: true,
  tool: tool(
    async ({ query, kb }, config: RunnableConfig) => searchKnowledge(parts, turnOf(config).tenantId, { query, kb, signal: config.signal }),
    {
      name: "knowledge_search",
      description: "Searches the documents of the knowledge bases.",
      schema: z.strictObject({
        query: z.string().trim().min(1).max(2_000),
        kb: z.string().max(64).optional().describe("The name of a knowledge base. Default: all."),
        offset: z.int().min(0).optional().describe("The character of the output from which to read on."),
      }),
    },
  ),
});
