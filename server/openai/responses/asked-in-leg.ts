import { askInWords, languageOf, type TalkLanguage } from "../../../turn/ask-in-words.ts";
import type { ListedStep } from "../../../stores/postgres/agents/step-store.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { FoundTurn } from "../../turns/find-turn.ts";
import { storedOutcome } from "../../turns/turn-source.ts";
import { answerItemId, callItemId, type ResponseName } from "./response-ids.ts";
import { answerItem, type FunctionCall, type OutputItem } from "./response-object.ts";

/** The language of the user's message. */
export async function languageOfTurn({ messages }: Pick<Stores, "messages">, { record }: FoundTurn): Promise<TalkLanguage> {
  const asked = record && (await messages.find(record, record.userMessageId));
  return languageOf(asked?.message.content ?? "");
}

/** A step's question; an answered one is no longer kept in words. */
function questionIn(given: unknown): string {
  const { question = "" } = (given ?? {}) as { question?: string };
  return question;
}

/** What a leg ended with: calls, or the question in words; null for an ordinary last leg. */
export async function askedIn(stores: Pick<Stores, "messages" | "steps">, found: FoundTurn & ResponseName): Promise<OutputItem[] | null> {
  const { record, turnId, leg } = found;
  if (!record) return null;
  const toItem = (id: string, name: string, given: unknown, index: number): FunctionCall => ({
    ...{ id: callItemId({ turnId, leg }, index + 1), type: "function_call", status: "completed", call_id: id, name },
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  });
  const steps: ListedStep[] = [];
  do steps.push(...(await stores.steps.list(record, turnId, { after: steps.at(-1)?.seq ?? 0, limit: 1_000 })));
  while (steps.at(-1)?.isMore);
  const questions = steps.filter(({ kind }) => kind === "question");
  const question = questions[leg - 1];
  if (!question) return storedOutcome(record)?.calls?.map((call, index) => toItem(call.id, call.name, call.arguments, index)) ?? null;
  const open = leg === questions.length ? record.question : null;
  if (question.name !== "client_tool") {
    const asked = open ? askInWords(open, await languageOfTurn(stores, found)) : questionIn(question.arguments);
    return [answerItem(answerItemId(found), asked, "completed")];
  }
  if (open) return (open.calls ?? []).map((call, index) => toItem(call.call_id, call.name, call.arguments, index));
  const asked = steps.findLast(({ kind, seq }) => kind === "model" && seq < question.seq)?.seq ?? 0;
  const calls = steps.filter(({ kind, seq }) => kind === "tool" && seq > asked && seq < question.seq);
  return calls.map((step, index) => toItem(step.callId ?? "", step.name, step.arguments, index));
}
