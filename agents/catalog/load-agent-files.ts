import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { AppError, type Problem } from "../../errors/app-error.ts";
import { type Agent, AGENT_NAME, AgentSpec, ASSISTANT } from "../../turn/agent.ts";
import { teamProblems } from "./unknown-names.ts";

const refuse = (where: string, problem: string): AppError => new AppError("invalid_configuration", `${where}: ${problem}`);

/** The problem of an agent whose model is not one of `models`. */
export const unknownModel = (model: string, models: readonly string[]): string =>
  `the service does not know "${model}"; it knows ${models.join(", ") || "none but the offline model"}`;

export interface NamesInAgents {
  models: readonly string[];
  problemsOf: (spec: AgentSpec) => Problem[];
}

/** An agent of the system tier. Throws AppError `invalid_configuration` that names the field. */
export function parseAgent(where: string, name: string, spec: unknown, { models, problemsOf }: NamesInAgents): Agent {
  if (!AGENT_NAME.test(name) || name === ASSISTANT)
    throw refuse(where, `the name of an agent has 1 to 64 small letters, digits and dashes, and is not "${ASSISTANT}"`);
  const parsed = AgentSpec.safeParse(spec);
  if (!parsed.success)
    throw refuse(where, parsed.error.issues.map((issue) => `${issue.path.join(".") || "the agent"}: ${issue.message}`).join("; "));
  const { model } = parsed.data;
  const problems = [...problemsOf(parsed.data), ...teamProblems(name, parsed.data)];
  if (model !== undefined && !models.includes(model)) problems.unshift({ field: "model", problem: unknownModel(model, models) });
  if (problems.length > 0) throw refuse(where, problems.map(({ field, problem }) => `${field}: ${problem}`).join("; "));
  return { ...parsed.data, name, tier: "system" };
}

function parseFile(file: string, text: string, names: NamesInAgents): Agent {
  const where = `AGENTS_DIR: ${file}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refuse(where, `is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return parseAgent(where, path.basename(file, ".json"), value, names);
}

/** The system's agents: each `NAME.json` of a folder. Throws AppError `invalid_configuration` that names the file and the field. */
export async function loadAgentFiles(folder: string, known: NamesInAgents): Promise<Agent[]> {
  const files = await readdir(folder).catch((error: unknown) => {
    throw new AppError("invalid_configuration", `AGENTS_DIR: "${folder}" cannot be read.`, { cause: error });
  });
  const names = files.filter((file) => file.endsWith(".json")).sort();
  return Promise.all(names.map(async (file) => parseFile(file, await readFile(path.join(folder, file), "utf8"), known)));
}
