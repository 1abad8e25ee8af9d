import { createHash } from "node:crypto";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { canonicalJson } from "./canonical-json.ts";
import type { AgentTool } from "./tool.ts";

/** Of what the model is told about a tool. Who allowed a tool for good has allowed it as it was then. */
export function toolDigest({ tool }: Pick<AgentTool, "tool">): string {
  const described = canonicalJson([tool.name, tool.description, toJsonSchema(tool.schema)]);
  return createHash("sha256").update(described).digest("base64url");
}
