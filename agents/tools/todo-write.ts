import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { PlanItem } from "../../turn/events.ts";
import { type AgentTool, turnOf } from "../tool.ts";

const MAX_ITEMS = 50;

export const todoWrite: AgentTool = {
  name: "todo_write",
  isHarmless: true,
  onlyReads: true,
  tool: tool(
    ({ items }, config: RunnableConfig) => {
      turnOf(config).showPlan(items);
      const done = items.filter(({ status }) => status === "completed").length;
      return `The plan has ${items.length} items, ${done} of them completed. People can see it.`;
    },
    {
      name: "todo_write",
      description: "Writes the whole plan of this turn, which people can see: what is to be done, what is under way, what is done.",
      schema: z.strictObject({ items: z.array(PlanItem.extend({ content: z.string().min(1).max(500) })).max(MAX_ITEMS) }),
    },
  ),
};
