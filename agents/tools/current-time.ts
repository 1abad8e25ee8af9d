import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";

/** `timeZone`: default for calls. */
export const makeCurrentTime = (timeZone: string): AgentTool => ({
  name: "current_time",
  isHarmless: true,
  onlyReads: true,
  tool: tool(
    ({ time_zone = timeZone }) => {
      try {
        const now = new Date();
        const words = new Intl.DateTimeFormat("en-GB", { timeZone: time_zone, dateStyle: "full", timeStyle: "long" }).format(now);
        return `${words} in ${time_zone}; ${now.toISOString()}`;
      } catch {
        throw new ToolError("invalid_time_zone", `"${time_zone.slice(0, 60)}" is no time zone.`, "Name one like Europe/Lisbon or UTC.");
      }
    },
    {
      name: "current_time",
      description: "The day and time now.",
      schema: z.strictObject({ time_zone: z.string().max(100).optional().describe("Such as Europe/Lisbon.") }),
    },
  ),
});
