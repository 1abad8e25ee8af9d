import { AppError } from "../errors/app-error.ts";
import type { KnowledgeHandlers } from "../nodes/generate-kb.ts";
import type { Service } from "./service/service.ts";
import type { AgentExtras } from "./parts/open-agents.ts";

/** The public API of the package. Importing it opens nothing and reads no environment. */
export * from "../graph/index.ts";
export type { Service } from "./service/service.ts";

/** What a program adds to its service: handlers of knowledge bases, agents, tools. */
export interface ServiceExtras extends AgentExtras {
  handlers?: KnowledgeHandlers;
}

/** Settings by the names of docs/configuration.md. */
export type Settings = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Opens the service in this process. Every setting has a default, and none is read from the environment. It logs warnings to standard
 * output unless LOG_LEVEL says otherwise. Throws AppError `invalid_configuration` that names every wrong setting.
 */
export async function openService(settings: Settings = {}, { handlers, ...extras }: ServiceExtras = {}): Promise<Service> {
  // Loaded on call: a caller of the graph alone needs no server.
  const [{ CONFIG_VARIABLES, parseConfig }, { openApp }, { makeLogger }] = await Promise.all([
    import("./settings/config.ts"),
    import("./service/open-service.ts"),
    import("../observe/logger.ts"),
  ]);
  const unknown = Object.keys(settings).filter((name) => !CONFIG_VARIABLES.includes(name));
  if (unknown.length > 0)
    throw new AppError("invalid_configuration", `There is no setting ${unknown.join(", ")}. docs/configuration.md lists them.`);
  const given = Object.entries(settings).map(([name, value]) => [name, value === undefined ? value : String(value)]);
  const config = parseConfig({ LOG_LEVEL: "warn", ...Object.fromEntries(given) } as Record<string, string | undefined>);
  return openApp(config, makeLogger(config.LOG_LEVEL), { ...(handlers ? { handlers } : {}), extras });
}
