import { DynamicStructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import type { AgentTool } from "../tool.ts";

/** What an agent has in place of the tools of a server at which its user has not signed in. */
export function makeSignInTool(server: string, address: string): AgentTool {
  const name = `mcp__${server}__sign_in`;
  return {
    name,
    isHarmless: true,
    onlyReads: true,
    tool: new DynamicStructuredTool({
      name,
      description: `The tools of "${server}" can be used once the user has signed in there. Tells the address to open for that.`,
      schema: z.strictObject({}),
      func: async () => `The user has to open this address and sign in, and then ask again: ${address}`,
    }),
  };
}
