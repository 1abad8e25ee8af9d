import type { ResponseFormat } from "../../turn/model-options.ts";
import { parseJsonObject } from "../../text/json-object.ts";
import { checkBySchema } from "./check-by-schema.ts";

const MOST_PROBLEMS = 5;

const schemaOf = (format: ResponseFormat): Record<string, unknown> | null =>
  format.type === "json_schema" ? ((format as { json_schema?: { schema?: Record<string, unknown> } }).json_schema?.schema ?? null) : null;

function problemsOf(schema: Record<string, unknown> | null, value: unknown): string[] {
  if (schema === null) return typeof value === "object" && value !== null && !Array.isArray(value) ? [] : ["is no JSON object"];
  const errors = checkBySchema(schema, value, { draft: "2020-12", isQuick: false });
  // The errors of the parts come before the error of the whole.
  return errors.slice(0, MOST_PROBLEMS).map(({ instanceLocation, error }) => `${instanceLocation.replace("#", "") || "/"} ${error}`);
}

/** Why this format's schema cannot be checked, or null. */
export function schemaProblem(format: ResponseFormat): string | null {
  const schema = schemaOf(format);
  if (schema === null) return format.type === "json_schema" ? "is missing" : null;
  try {
    problemsOf(schema, {});
    return null;
  } catch {
    return "cannot be used for a check: its references or patterns are wrong, or take too long";
  }
}

/** `text` is the JSON of an answer, also from a fence or a sentence. */
export type CheckedForm = { ok: true; text: string } | { ok: false; problems: string[] };

/** Throws when the check takes too long. */
export function checkForm(format: ResponseFormat, answer: string): CheckedForm {
  const within = parseJsonObject(answer);
  const value = parsed(answer) ?? within;
  if (value === null || value === undefined) return { ok: false, problems: ["is no JSON"] };
  const problems = problemsOf(schemaOf(format), value);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, text: parsed(answer) === undefined ? JSON.stringify(value) : answer };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Tells a model whose server knows no forms what its answer must be. */
export function askForForm(format: ResponseFormat, problems: readonly string[]): string {
  const schema = schemaOf(format);
  const fits = schema === null ? "." : ` that fits this JSON schema:\n${JSON.stringify(schema)}`;
  const again = problems.length > 0 ? `Your answer ${problems.join("; ")}. Answer again with` : "Answer with";
  return `${again} one JSON ${schema === null ? "object" : "value"} and nothing else, no words around it and no code fence${fits}`;
}
