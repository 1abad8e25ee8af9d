import { z } from "zod";
import { httpUrl, onOrOff } from "./setting-types.ts";

export const agents = {
  MCP_CONFIG: z
    .string()
    .optional()
    .describe(
      "A JSON file with the MCP servers whose tools agents may have: `mcpServers` by name, each with `command`, `args`, `env`, or with `url`, `headers`. `${NAME}` stands for a variable of the environment. Unset: none.",
    ),
  SECRETS_KEY: z
    .string()
    .min(32, "must have 32 or more characters")
    .optional()
    .describe("A secret of 32 or more characters, with which the secrets of tenants are encrypted. Unset: tenants can add no MCP servers."),
  PUBLIC_URL: httpUrl
    .optional()
    .describe(
      "The address at which people's browsers reach this service, like `https://chat.example.org`. With SECRETS_KEY, users can then sign in at MCP servers that want OAuth. Unset: they cannot.",
    ),
  TRUST_MCP_HINTS: onOrOff(false).describe("Whether tools that their MCP server calls read-only run without asking."),
  AGENTS_DIR: z.string().optional().describe("A folder of agents for all tenants, one `NAME.json` each. Unset: none besides `assistant`."),
  SKILLS_DIR: z
    .string()
    .optional()
    .describe("A folder of skills for all tenants, one folder with a `SKILL.md` each. It is read once, at the start. Unset: none."),
  QUESTION_WEBHOOK_URL: httpUrl
    .optional()
    .describe(
      "Is told of each question that an agent asks a person, by `POST`, as the incoming webhooks of chats want it: see docs/agents.md. Unset: nobody is told.",
    ),
  QUESTION_WEBHOOK_SECRET: z
    .string()
    .min(24, "must have 24 or more characters")
    .optional()
    .describe("A secret of 24 or more characters, with which what QUESTION_WEBHOOK_URL is told is signed."),
  WEB_FETCH: onOrOff(false).describe(
    "Whether agents may read pages of the internet, with the tool `web_fetch`. Only public addresses are reached.",
  ),
};
