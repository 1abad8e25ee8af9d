import { type AgentCatalog, makeAgentCatalog } from "../../agents/catalog/agent-catalog.ts";
import { type KnownNames, type KnownTools, unknownAgents, unknownTools, unmetNames } from "../../agents/catalog/unknown-names.ts";
import { loadAgentFiles, parseAgent } from "../../agents/catalog/load-agent-files.ts";
import type { ToolHooks } from "../../agents/run-tool-call.ts";
import { loadSkillFolders, type SystemSkill } from "../../agents/skills/load-skill-folders.ts";
import { makeSkillCatalog, type SkillCatalog } from "../../agents/skills/skill-catalog.ts";
import type { AgentTool, ToolSource } from "../../agents/tool.ts";
import { askingTools } from "../../agents/tools/ask-person.ts";
import { calculate } from "../../agents/tools/calculate.ts";
import { makeConversationSearch } from "../../agents/tools/conversation-search.ts";
import { makeCurrentTime } from "../../agents/tools/current-time.ts";
import { makeKnowledgeSearch } from "../../agents/tools/knowledge-search.ts";
import { makeMemoryTools } from "../../agents/tools/memory-tools.ts";
import { todoWrite } from "../../agents/tools/todo-write.ts";
import { makeWebFetch } from "../../agents/tools/web-fetch.ts";
import { makeFindMessages } from "../../memory/recall/find-messages.ts";
import { makeSavedMemoryStore } from "../../stores/postgres/memory/saved-memory-store.ts";
import type { Agent, AgentSpec, AgentSpecInput } from "../../turn/agent.ts";
import type { Config } from "../settings/config.ts";
import type { Memory } from "./open-memory.ts";
import type { Models } from "./open-models.ts";
import type { Mcp } from "./open-mcp.ts";
import type { Stores } from "./open-stores.ts";

export interface Agents {
  catalog: AgentCatalog;
  system: readonly Agent[];
  tools: ToolSource;
  skills: SkillCatalog;
  systemSkills: readonly SystemSkill[];
  hooks: ToolHooks;
  timeZone: string;
  /** The meanings of names in a system agent. Tenants may add MCP servers and skills. */
  known: KnownTools & KnownNames;
}

/** Tools that settings switch off, and how to switch them on. */
const SWITCHED = {
  web_fetch: "WEB_FETCH=true",
  knowledge_search: "ENABLE_EPISODIC_MEMORY=true",
  conversation_search: "ENABLE_EPISODIC_MEMORY=true",
} as const;

function builtInTools(config: Config, stores: Stores, memory: Memory): AgentTool[] {
  const episodic = memory.episodes?.memory ?? null;
  return [
    calculate,
    makeCurrentTime(config.TIME_ZONE),
    todoWrite,
    ...askingTools,
    ...makeMemoryTools({
      recall: episodic?.recall ?? null,
      saved: makeSavedMemoryStore(stores.database),
      coreMemory: config.ENABLE_CORE_MEMORY ? stores.coreMemory : null,
      sections: memory.sections,
    }),
    ...(episodic
      ? [
          makeKnowledgeSearch({ find: episodic.findPassages, catalog: stores.knowledgeBases, limit: config.KNOWLEDGE_TOP_K }),
          makeConversationSearch(makeFindMessages({ index: episodic.index, messages: stores.messages })),
        ]
      : []),
    ...(config.WEB_FETCH ? [makeWebFetch()] : []),
  ];
}

interface AgentsParts {
  stores: Stores;
  models: Pick<Models, "names">;
  memory: Memory;
  mcp: Mcp;
  extras?: AgentExtras | undefined;
  /** Called with a system agent's names that mean nothing yet. */
  onUnmet: (agent: string, problem: string) => void;
}

/** Throws AppError `invalid_configuration` when a file of an agent or a skill is wrong. */
export async function openAgents(config: Config, { stores, models, memory, mcp, extras = {}, onUnmet }: AgentsParts): Promise<Agents> {
  const tools = [...builtInTools(config, stores, memory), ...(extras.tools ?? [])];
  const knownTools: KnownTools = { tools: tools.map(({ name }) => name), off: SWITCHED };
  const names = { models: models.names, problemsOf: (spec: AgentSpec) => unknownTools(spec, knownTools) };
  const [files, systemSkills] = await Promise.all([
    config.AGENTS_DIR === undefined ? [] : loadAgentFiles(config.AGENTS_DIR, names),
    config.SKILLS_DIR === undefined ? [] : loadSkillFolders(config.SKILLS_DIR),
  ]);
  const known = { ...knownTools, mcpServers: mcp.systemNames, skills: systemSkills.map(({ name }) => name) };
  const ofProgram = Object.entries(extras.agents ?? {}).map(([name, spec]) => parseAgent(`the agent "${name}"`, name, spec, names));
  const system = [...files, ...ofProgram];
  const agentNames = system.map(({ name }) => name);
  for (const agent of system) {
    const unmet = [...unmetNames(agent, known), ...unknownAgents(agent.name, agent, agentNames)];
    for (const { field, problem } of unmet) onUnmet(agent.name, `${field}: ${problem}`);
  }
  return {
    catalog: makeAgentCatalog({ system, tenants: stores.agents, rules: stores.rules }),
    system,
    tools: async (owner, wanted) => [...tools, ...(await mcp.servers.tools(owner, wanted))],
    skills: makeSkillCatalog({ system: systemSkills, tenants: stores.skills }),
    systemSkills,
    hooks: extras.hooks ?? {},
    timeZone: config.TIME_ZONE,
    known,
  };
}

/** What a program adds to the agents of its service. */
export interface AgentExtras {
  /** Agents of the system tier by name, besides those of AGENTS_DIR. */
  agents?: Readonly<Record<string, AgentSpecInput>>;
  /** Tools that agents may name: see `fromLangChainTool`. */
  tools?: readonly AgentTool[];
  /** Run around every call of a tool. */
  hooks?: ToolHooks;
}
