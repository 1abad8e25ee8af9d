import { z } from "zod";
import type { ErrorCode } from "../../../errors/error-codes.ts";
import type { AnswerHeader, RequestHeader } from "./headers.ts";

/** The groups in which the page shows the operations, in their order. */
export const TAGS = {
  turns: "One user message and the assistant's answer to it.",
  conversations: "What was said, and what was imported.",
  memory: "What is remembered of a user: earlier exchanges, core memory, what was done to it and why.",
  knowledge: "Documents that turns can be routed to.",
  "OpenAI's protocol": "For front ends that speak it already.",
  service: "Health, metrics, background jobs, this description.",
} as const;

/** Bodies by media type. */
export type Content = Readonly<Record<string, z.ZodType>>;

export interface Answer {
  what: string;
  content: Content;
  headers?: readonly AnswerHeader[];
}

/** One method of one route, as clients see it. */
export interface Operation {
  id: string;
  method: "get" | "post" | "put" | "delete";
  /** From the root, with parameters as the router writes them: /api/v1/users/:id */
  path: `/${string}`;
  tag: keyof typeof TAGS;
  summary: string;
  details?: string;
  /** What stands in the path; ids that are missing here are UUIDs. */
  params?: Readonly<Record<string, z.ZodType>>;
  query?: z.ZodObject;
  headers?: readonly RequestHeader[];
  body?: Content;
  /** The body can be left out. */
  bodyIsOptional?: boolean;
  /** What is answered when all is well, by status. */
  answers: Readonly<Record<number, Answer>>;
  /** Codes it can refuse with besides those of every operation. */
  errors?: readonly ErrorCode[];
  /** Asks for no key and counts towards no limit. */
  isOpen?: boolean;
  /** Its errors are OpenAI's. */
  speaksOpenAI?: boolean;
}

export const jsonBody = (schema: z.ZodType): Content => ({ "application/json": schema });

export const jsonAnswer = (schema: z.ZodType, what = "OK", headers: readonly AnswerHeader[] = []): Answer => {
  return { what, content: jsonBody(schema), headers };
};

/** What a file is to JSON Schema: its bytes as they are. */
export const file = z.string().meta({ format: "binary" });

/** Codes of operations with a JSON body. */
export const BODY_ERRORS = ["body_too_large", "unsupported_media_type"] as const satisfies readonly ErrorCode[];
