import { findAgent } from "../../agents/catalog/agent-catalog.ts";
import { assertKnowledgeBase } from "../../nodes/routing/route-by-words.ts";
import { GENERAL } from "../../turn/route-decision.ts";
import { ASSISTANT } from "../../turn/agent.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Stores } from "../parts/open-stores.ts";

type Parts = { agents: Agents } & { stores: Pick<Stores, "knowledgeBases"> };

/** Throws AppError `invalid_request`, which lists the known ones, for a knowledge base or agent that the tenant lacks. */
export async function assertKnown(
  { agents, stores: { knowledgeBases } }: Parts,
  tenantId: string,
  { kb_prefix: base, agent }: { kb_prefix: string | null; agent: string | null },
): Promise<void> {
  async function assertBase(): Promise<void> {
    if (base === null || base === GENERAL || (await knowledgeBases.find(tenantId, base))) return;
    assertKnowledgeBase(base, await knowledgeBases.list(tenantId));
  }
  async function assertAgent(): Promise<void> {
    if (agent !== null && agent !== ASSISTANT) findAgent(await agents.catalog.list(tenantId), agent);
  }
  await Promise.all([assertBase(), assertAgent()]);
}
