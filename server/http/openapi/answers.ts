import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "../../../errors/error-codes.ts";

export const ErrorAnswer = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
    message: z.string().describe("What failed, with which value, and what to do."),
    details: z
      .array(z.object({ field: z.string(), problem: z.string(), index: z.int().optional().describe("Of a wrong message of an import.") }))
      .optional()
      .describe("Every field that is wrong, when fields are."),
  }),
});

/** Whatever OpenAPI 3.1 allows. */
export const ApiDescription = z.looseObject({ openapi: z.string() });
