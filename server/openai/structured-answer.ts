import { z } from "zod";
import type { CompletionRequest } from "./completion-request.ts";

/** An answer that a client wants as JSON, in the text or as the arguments of a tool that it says must be called. */
export interface StructuredAnswer {
  schema: unknown;
  /** The names of its fields, as far as the schema tells. */
  properties: string[];
  tool: string | null;
}

const WithProperties = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

function structured(schema: unknown, tool: string | null): StructuredAnswer {
  const known = WithProperties.safeParse(schema);
  return { schema, properties: known.success ? Object.keys(known.data.properties) : [], tool };
}

/** What a request demands of the form of its answer; null when any text will do. */
export function structuredAnswerOf({ response_format, tools, tool_choice }: CompletionRequest): StructuredAnswer | null {
  if (response_format?.type === "json_schema") return structured(response_format.json_schema?.schema, null);
  const isForced = tool_choice === "required" || (typeof tool_choice === "object" && tool_choice !== null);
  const wanted = typeof tool_choice === "object" ? tool_choice?.function?.name : undefined;
  const tool = tools?.find(({ function: candidate }) => candidate && (wanted === undefined || candidate.name === wanted))?.function;
  return isForced && tool ? structured(tool.parameters, tool.name) : null;
}

/** The JSON object in a model's answer; null when there is none. Models put it into a fence, or a sentence around it. */
export function jsonObjectIn(text: string): string | null {
  const found = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  try {
    const value: unknown = JSON.parse(found);
    return typeof value === "object" && value !== null ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}
