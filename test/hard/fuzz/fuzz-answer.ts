import { ERROR_CODES, type ErrorCode } from "../../../errors/error-codes.ts";
import { HTTP_STATUS } from "../../../server/http/http-status.ts";
import { LOWER_LAYER, withoutCursors } from "../../support/clients/expect-refusal.ts";

export interface FuzzAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

const OPENAI_WORDS: Record<string, ErrorCode> = {
  invalid_api_key: "unauthorized",
  rate_limit_exceeded: "rate_limited",
  insufficient_quota: "token_quota_exceeded",
  model_not_found: "not_found",
};

const OF_THE_WHOLE = /^(The body is |The request )/;
const OF_HTTP = new Set([400, 408, 417, 431]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const keysOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? Object.keys(value).toSorted().join() : typeof value;

function codeProblem(status: number, code: ErrorCode | undefined): string | undefined {
  if (code === undefined || !(code in ERROR_CODES)) return `the code ${String(code)} is not in the list`;
  if (HTTP_STATUS[code] !== status && !(code === "invalid_request" && OF_HTTP.has(status))) return `the code ${code} has another status`;
  return undefined;
}

interface AnyError {
  code?: string;
  message?: string;
  param?: unknown;
  details?: { field?: unknown; problem?: unknown }[];
}

function fieldProblem({ code, message = "", details, param }: AnyError, isOpenAI: boolean): string | undefined {
  if (code !== "invalid_request" || OF_THE_WHOLE.test(message)) return undefined;
  if (isOpenAI) return typeof param === "string" && param !== "" ? undefined : "no field is named in param";
  if (!details || details.length === 0) return "no field is named in details";
  const unsaid = details.find(({ field, problem }) => !message.includes(`${String(field)}: ${String(problem)}`));
  return unsaid ? `the message says nothing of ${JSON.stringify(unsaid)}` : undefined;
}

/** What is wrong with an answer, whatever was asked; undefined when nothing is. */
export function problemOf(target: string, isHead: boolean, { status, headers, text }: FuzzAnswer): string | undefined {
  if (status >= 500) return "is a failure of the service";
  if (status < 400 || isHead) return undefined;
  const type = headers["content-type"];
  if (type !== "application/json; charset=utf-8") return `an error of the type ${String(type)}`;
  const body = parsed(text) as { error?: AnyError } | undefined;
  if (keysOf(body) !== "error") return "an error of another shape";
  const error = body?.error ?? {};
  const isOpenAI = /^\/v1(\/|$|\?)/i.test(target) && headers["x-request-id"] !== undefined; // else it came to no route
  const shape = keysOf(error);
  const shapes = isOpenAI ? ["code,message,param,type"] : ["code,message", "code,details,message"];
  if (!shapes.includes(shape)) return `an error with the fields ${shape}`;
  if (LOWER_LAYER.test(withoutCursors(text))) return "shows something of a lower layer";
  const code = OPENAI_WORDS[isOpenAI ? (error.code ?? "") : ""] ?? (error.code as ErrorCode | undefined);
  return codeProblem(status, code) ?? fieldProblem(error, isOpenAI);
}
