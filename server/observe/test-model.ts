import { HumanMessage } from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import type { AnswerTimeouts } from "../../models/deadlines.ts";
import type { ModelChoice } from "../../models/model-choice.ts";
import { type ModelSettings, settingsOf } from "../../models/model-error.ts";
import { streamAnswer } from "../../models/stream-answer.ts";
import type { Observer } from "../../observe/observer.ts";

export const TestedModel = z.object({
  model: z.string(),
  ok: z.boolean(),
  ms: z.number().describe("Until its first word, or until it failed."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  check: z.array(z.string()).describe("Where to look: the settings that it may be about, by name."),
});
export type TestedModel = z.infer<typeof TestedModel>;

/** The settings that a failure may be about. */
const CHECK: Partial<Record<ErrorCode, readonly (keyof ModelSettings)[]>> = {
  model_unavailable: ["url"],
  model_bad_response: ["url"],
  model_incomplete: ["url", "model"],
  model_first_token_timeout: ["url", "model"],
  model_not_found: ["model"],
  model_unauthorized: ["key"],
  model_quota: ["key"],
  model_refused: ["key", "url", "model"],
};

interface TestModelParts {
  timeouts: AnswerTimeouts;
  observer: Observer;
  signal: AbortSignal;
}

/** Asks for one word, and stops the model at the beginning of its answer. */
export async function testModel({ name, model }: ModelChoice, { timeouts, observer, signal }: TestModelParts): Promise<TestedModel> {
  const began = performance.now();
  const enough = new AbortController();
  let answeredAt: number | undefined;
  const note = (): void => {
    answeredAt ??= performance.now();
    enough.abort(new AppError("turn_cancelled", "The model answers."));
  };
  const { error } = await streamAnswer({
    model,
    timeouts,
    prompt: [new HumanMessage("Answer with the word: yes")],
    signal: AbortSignal.any([signal, enough.signal]),
    watched: { observer, purpose: "task" },
    patience: "none",
    onToken: note,
    onThought: note,
  });
  const failed = answeredAt === undefined ? error : null;
  const settings = settingsOf("task", model);
  return {
    model: name,
    ok: failed === null,
    ms: Math.round((answeredAt ?? performance.now()) - began),
    error: failed && { code: failed.code, message: failed.message },
    check: ((failed && CHECK[failed.code]) ?? []).map((place) => settings[place]),
  };
}
