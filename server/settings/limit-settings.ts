import { z } from "zod";
import { decimalNumber, headers, httpUrl, wholeNumber } from "./setting-types.ts";

export const limitsAndLogs = {
  MAX_MESSAGE_CHARS: wholeNumber(1, 1_000_000).default(32_000).describe("Longest message, in characters."),
  MAX_PICTURES: wholeNumber(0, 100)
    .default(10)
    .describe("Most pictures of a message, each of at most 10 MiB, all together of 20 MiB. 0: pictures are refused."),
  JOB_CONCURRENCY: wholeNumber(1, 1_000)
    .default(8)
    .describe(
      "Background jobs that run at a time in this process. They mostly wait for a model: raise it if the model is slow and takes many calls at once.",
    ),
  MAX_TURNS_PER_PROCESS: wholeNumber(0, 1_000_000)
    .optional()
    .describe(
      "Turns that may run or wait at once in this process; 0: any number. Beyond, and while the event loop is more than a second late, turns are refused with 503 before anything is stored. Unset: 512, on one core 256.",
    ),
  RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000).default(120).describe("Requests of one user in a minute; 0: any number."),
  RATE_LIMIT_PER_MINUTE_PER_TENANT: wholeNumber(0, 10_000_000).default(0).describe("Requests of one tenant in a minute; 0: any number."),
  MAX_CONCURRENT_TURNS_PER_USER: wholeNumber(0, 100_000)
    .default(4)
    .describe("Turns of one user that may run or wait at once; 0: any number."),
  MAX_CONCURRENT_TURNS_PER_TENANT: wholeNumber(0, 1_000_000)
    .default(0)
    .describe("Turns of one tenant that may run or wait at once; 0: any number."),
  MAX_CONCURRENT_TASKS_PER_USER: wholeNumber(0, 100_000)
    .default(8)
    .describe(
      "Titles, tags and the like that front ends may ask for one user at once, besides turns; 0: any number. A tenant has as many as turns.",
    ),
  TOKENS_PER_DAY: wholeNumber(0)
    .default(0)
    .describe(
      "Tokens that a tenant's turns and front ends' own requests may use in a day (UTC); 0: any number. Summaries, core memory and routing do not count.",
    ),
  COST_PER_DAY: decimalNumber(0, 1_000_000_000)
    .default(0)
    .describe(
      "US dollars that all calls of models for a tenant may cost in a day (UTC), those behind its turns too; 0: any number. Each model needs a price in MODEL_PROFILES.",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe("Where traces are sent (OTLP over HTTP), like `http://localhost:4318`. Unset: nowhere."),
  OTEL_EXPORTER_OTLP_HEADERS: headers
    .optional()
    .describe("Headers that the receiver asks for: `name=value` joined by commas, values percent-encoded."),
  OTEL_SERVICE_NAME: z.string().default("conversation-graph").describe("The name of this service in the traces."),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe(
      "The least level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. What users write is never logged at `info`.",
    ),
};
