import { readFileSync } from "node:fs";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { HeaderRecord, headerName, httpUrl } from "./setting-types.ts";

/** Reserved for the service itself, its agents and its knowledge bases. */
const SERVICE = "conversation-graph";
const LONGEST_NAME = 100;

const text = z.string("must be a text").min(1, "is empty");

const ListedModel = z.strictObject({
  model: text.optional(),
  api: z.enum(["openai", "anthropic"], 'must be "openai" or "anthropic"').default("openai"),
  base_url: httpUrl.optional(),
  api_key: text.optional(),
  key_header: headerName.optional(),
  headers: HeaderRecord.optional(),
  extra_body: z.record(z.string(), z.unknown(), "must be an object").optional(),
  internal: z.boolean("must be true or false").default(false),
  fallback: z.array(text, "must be an array of names").max(10, "has more than 10 names").default([]),
});
/** What MODELS says of a model. Without `model` its server knows it by its name; without `base_url` it is at the service's own. Callers and agents cannot choose one that is `internal`. */
export type ListedModel = z.infer<typeof ListedModel>;

const ModelList = z.record(z.string(), ListedModel, "must be an object with models by name");
export type ModelList = z.infer<typeof ModelList>;

/** The file of MODELS, whose keys no message shows. Throws AppError `invalid_configuration`. */
export function readModelList(file: string | undefined, chatModel: string): ModelList {
  if (file === undefined) return {};
  const invalid = (problem: string): AppError =>
    new AppError("invalid_configuration", `MODELS: "${file}" ${problem}`, { details: [{ field: "MODELS", problem }] });
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw invalid(error instanceof SyntaxError ? "is not JSON" : "cannot be read"); // a parser quotes what it reads
  }
  const parsed = ModelList.safeParse(content);
  if (!parsed.success)
    throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`).join("; "));
  const list = parsed.data;
  for (const [name, { fallback }] of Object.entries(list)) {
    if (name === "" || name.length > LONGEST_NAME) throw invalid(`has a name that is empty or longer than ${LONGEST_NAME} characters`);
    if (name === SERVICE || name.startsWith(`${SERVICE}/`)) throw invalid(`"${name}" cannot begin with ${SERVICE}; choose another name`);
    const unknown = fallback.find((other) => other === name || (!(other in list) && other !== chatModel));
    if (unknown !== undefined) throw invalid(`${name}.fallback: "${unknown}" must be another model of the file, or CHAT_MODEL`);
  }
  return list;
}
