import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { AppError } from "../../errors/app-error.ts";
import { type KnowledgeHandlers, type KnowledgeHandlersByPrefix, makeKnowledgeHandlers } from "../../nodes/generate-kb.ts";
import { PREFIX } from "../api/knowledge/knowledge-routes.ts";
import type { Config } from "../settings/config.ts";

const SHAPE =
  'Its default export must be an object with a function for each knowledge base, like `export default { prices: async ({ stream }) => stream("7.50") }`';

const wrong = (problem: string, cause?: unknown): AppError =>
  new AppError("invalid_configuration", `KB_HANDLERS: ${problem}.`, { details: [{ field: "KB_HANDLERS", problem }], cause });

/** Why a module does not load, and in which line. A syntax error does not tell the line. */
function reasonOf(error: unknown, url: string): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "SyntaxError") return `${error.message} (\`node --check\` with this file shows where)`;
  const place = error.stack?.split(`${url}:`)[1];
  const line = place && /^\d+/.exec(place)?.[0];
  return `${error.message}${line ? ` (line ${line})` : ""}`;
}

async function importDefault(file: string): Promise<unknown> {
  const { href } = pathToFileURL(file);
  if (!existsSync(file)) throw wrong(`there is no file "${file}"`);
  try {
    return ((await import(href)) as { default?: unknown }).default;
  } catch (error) {
    throw wrong(`"${file}" cannot be loaded: ${reasonOf(error, href)}`, error);
  }
}

/** Throws AppError `invalid_configuration` that says what is wrong with the module. */
async function loadHandlers(setting: string): Promise<KnowledgeHandlers> {
  const file = path.resolve(setting);
  const byPrefix = await importDefault(file);
  if (typeof byPrefix !== "object" || byPrefix === null || Object.keys(byPrefix).length === 0)
    throw wrong(`"${file}" has no handlers. ${SHAPE}`);
  for (const [prefix, handler] of Object.entries(byPrefix)) {
    if (!PREFIX.test(prefix)) throw wrong(`"${file}" has a handler for "${prefix}", which cannot be the name of a knowledge base`);
    if (typeof handler !== "function") throw wrong(`"${file}" has no function for "${prefix}". ${SHAPE}`);
  }
  return makeKnowledgeHandlers(byPrefix as KnowledgeHandlersByPrefix);
}

/** A program's handlers, or those of the module KB_HANDLERS. Throws AppError `invalid_configuration`. */
export async function openHandlers(
  { KB_HANDLERS: setting, ENABLE_KB_HANDLERS: isOn }: Pick<Config, "KB_HANDLERS" | "ENABLE_KB_HANDLERS">,
  given: KnowledgeHandlers | undefined,
): Promise<KnowledgeHandlers | undefined> {
  if (!isOn) return undefined;
  if (setting === undefined) return given;
  if (given) throw wrong("is set, and the program gives handlers of its own; leave one of them out");
  return loadHandlers(setting);
}
