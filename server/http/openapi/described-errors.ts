import type { z } from "zod";
import type { ErrorCode } from "../../../errors/error-codes.ts";
import { HTTP_STATUS } from "../http-status.ts";
import { toOpenAIError } from "../../openai/openai-error.ts";
import type { Operation } from "./operation.ts";
import { ErrorAnswer } from "../error-response.ts";
import { OpenAIErrorAnswer } from "../../openai/openai-error.ts";

/** Codes every operation behind the key can refuse with. */
const COMMON_ERRORS = [
  "invalid_request",
  "unauthorized",
  "forbidden",
  "misdirected_request",
  "rate_limited",
  "storage_unavailable",
  "internal_error",
] as const satisfies readonly ErrorCode[];

export interface DescribedError {
  status: number;
  schema: z.ZodType;
  /** As clients see them, in OpenAI's words where its protocol is spoken. */
  codes: string[];
}

/** OpenAI's word for a code; the only thing that is not found there is a model. */
const openAICode = (code: ErrorCode): string => toOpenAIError({ code, message: "", details: [{ field: "model", problem: "" }] }).error.code;

/** What an operation can refuse with, by status. */
export function errorsOf({ path, isOpen = false, errors = [] }: Operation): DescribedError[] {
  const speaksOpenAI = path.startsWith("/v1/");
  const codes = [...new Set<ErrorCode>([...(isOpen ? [] : COMMON_ERRORS), ...errors])];
  return [...Map.groupBy(codes, (code) => HTTP_STATUS[code])].map(([status, ofStatus]) => ({
    status,
    schema: speaksOpenAI ? OpenAIErrorAnswer : ErrorAnswer,
    codes: speaksOpenAI ? ofStatus.map(openAICode) : ofStatus,
  }));
}
