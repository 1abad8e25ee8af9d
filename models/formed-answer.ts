import { AIMessage, HumanMessage, type UsageMetadata } from "@langchain/core/messages";
import { AppError } from "../errors/app-error.ts";
import { askForForm, checkForm, type CheckedForm } from "./wire/answer-form.ts";
import { type AnswerRequest, type ModelAnswer, streamAnswer } from "./stream-answer.ts";

function malformed(problems: readonly string[]): AppError {
  const what = `The model's answer is not what response_format asks for: it ${problems.join("; ")}.`;
  return new AppError("model_malformed", `${what} Try again, or use a model whose server enforces it.`);
}

/** Hands text on once it begins like JSON: then its server probably knows forms. Until then it may be corrected. */
function holdUntilJson({ onToken }: Pick<AnswerRequest, "onToken">, mayShow: boolean) {
  let held = "";
  let isShown = false;
  return {
    push: (token: string): void => {
      if (isShown) return onToken(token);
      held += token;
      if (!mayShow || !/^\s*[[{]/.test(held)) return;
      isShown = true;
      onToken(held);
    },
    /** Replaces the held text. */
    release: (text: string): void => {
      if (!isShown && text !== "") onToken(text);
      isShown = true;
    },
    isShown: () => isShown,
  };
}

function sum(one: UsageMetadata | undefined, other: UsageMetadata | undefined): UsageMetadata | undefined {
  if (!one || !other) return undefined;
  return {
    ...other,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
  };
}

/** A call is no answer where the prompt has no tools: nobody could run it. */
async function answerTo(request: AnswerRequest): Promise<ModelAnswer> {
  const answer = await streamAnswer(request);
  const [call] = answer.toolCalls;
  if (request.tools || !call) return answer;
  const message = `The model called the tool "${call.name.slice(0, 100)}", which it was not offered. Try again.`;
  return { ...answer, toolCalls: [], error: answer.text === "" ? new AppError("model_incomplete", message) : answer.error };
}

/**
 * Streams a model's answer as `streamAnswer` does, and checks its form. A wrong answer that nobody has seen is asked for once more with its
 * schema. Fails with AppError `model_malformed`. A cut answer stays.
 */
export async function formedAnswer(request: AnswerRequest): Promise<ModelAnswer> {
  const format = request.modelOptions?.response_format;
  if (!format || format.type === "text") return answerTo(request);
  const gate = holdUntilJson(request, request.modelOptions?.stream !== false);
  const check = (text: string): CheckedForm => {
    try {
      return checkForm(format, text);
    } catch {
      return { ok: false, problems: ["could not be checked in time"] };
    }
  };

  const first = await answerTo({ ...request, onToken: gate.push });
  const isChecked = first.error === null && first.toolCalls.length === 0 && first.cut === null;
  const checked = isChecked ? check(first.text) : null;
  if (!checked || checked.ok) {
    const text = checked && !gate.isShown() ? checked.text : first.text;
    gate.release(text);
    return { ...first, text };
  }
  if (gate.isShown()) return { ...first, error: malformed(checked.problems) };

  const again = [new AIMessage(first.text), new HumanMessage(askForForm(format, checked.problems))];
  const second = await answerTo({ ...request, prompt: [...request.prompt, ...again], onToken: () => undefined });
  const usage = sum(first.usage, second.usage);
  if (second.error || second.toolCalls.length > 0) return { ...second, usage, text: "" };
  const repaired = second.cut === null ? check(second.text) : { ok: true as const, text: second.text };
  if (!repaired.ok) return { ...second, usage, text: "", error: malformed(repaired.problems) };
  gate.release(repaired.text);
  return { ...second, usage, text: repaired.text };
}
