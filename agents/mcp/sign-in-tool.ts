import { DynamicStructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import { SIGN_IN_ANSWERS } from "../../turn/question.ts";
import type { AgentTool } from "../tool.ts";
import { SIGN_IN_MS } from "./sign-in.ts";

const [SIGNED_IN, SKIP] = SIGN_IN_ANSWERS;

/** Replaces the tools of a server without a sign-in: its call asks the user to sign in. */
export function makeSignInTool(server: string, address: string): AgentTool {
  const name = `mcp__${server}__sign_in`;
  return {
    name,
    isHarmless: true,
    onlyReads: true,
    asks: () => ({
      type: "decision",
      sign_in: { server, url: address },
      question: `To use the tools of "${server}", open this address and sign in: ${address}`,
      options: [
        { label: SIGNED_IN, description: "Go on with its tools.", is_recommended: true },
        { label: SKIP, description: "Go on without them.", is_recommended: false },
      ],
      ifUnanswered: SKIP,
      timeoutMs: SIGN_IN_MS,
    }),
    tool: new DynamicStructuredTool({
      name,
      description: `The tools of "${server}" can be used once the user has signed in there. Asks the user to do so. Call it when you need them.`,
      schema: z.strictObject({}),
      func: async () => "",
    }),
  };
}
