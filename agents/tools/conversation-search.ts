import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { FindMessages } from "../../memory/recall/find-messages.ts";
import { shortenText } from "../../text/tokens.ts";
import { type AgentTool, turnOf } from "../tool.ts";

const MOST_FOUND = 10;
/** The limit for each found message. */
const FOUND_TOKENS = 300;

/** Finds the user's messages by their words, in all conversations. */
export const makeConversationSearch = (find: FindMessages): AgentTool => ({
  name: "conversation_search",
  isHarmless: true,
  onlyReads: true,
  tool: tool(
    async ({ query }, config: RunnableConfig) => {
      const { tenantId, userId } = turnOf(config);
      const { items, next } = await find({ tenantId, userId }, query, { limit: MOST_FOUND, after: null });
      if (items.length === 0) return "No message has all these words. Try fewer words, or other ones.";
      const found = items.map(({ message: { createdAt, role, content }, conversationId }) => {
        return `[${createdAt.toISOString().slice(0, 10)}, conversation ${conversationId}, ${role}]\n${shortenText(content, FOUND_TOKENS)}`;
      });
      return [...found, ...(next === null ? [] : ["[There are older ones. More words find fewer.]"])].join("\n\n");
    },
    {
      name: "conversation_search",
      description: "Finds messages of this user's conversations that have all the words of the query, the newest first.",
      schema: z.strictObject({ query: z.string().trim().min(1).max(400) }),
    },
  ),
});
