import type { Response } from "express";
import { AppError } from "../../errors/app-error.ts";
import { resultStep } from "../../agents/loop/fit-caller-tools.ts";
import { endWaiting } from "../../agents/questions/waiting-turns.ts";
import type { Owner } from "../../turn/owner.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { makeTurnStore } from "../../stores/postgres/turns/turn-store.ts";
import { CallerTool, type CallerTools, type CallResults } from "../../turn/caller-tools.ts";
import type { TurnWithCalls } from "../../stores/postgres/turns/turn-record-store.ts";
import type { Notice } from "../../turn/events.ts";
import { type Picture, wordsWithPictures } from "../../turn/picture.ts";
import type { GivenAnew } from "../../turn/resumed-turn.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Config } from "../settings/config.ts";
import type { Turns } from "../turns/open-turn.ts";
import { type GivenPicture, toGivenPicture } from "../turns/read-parts.ts";
import { localSource, type TurnSource } from "../turns/turn-source.ts";
import type { CompletionRequest } from "./completion-request.ts";

const refuse = (field: string, problem: string): never => {
  throw AppError.invalid([{ field, problem }]);
};

/** The names of the tools that may be called, and whether one must be. */
function readChoice(choice: CompletionRequest["tool_choice"], known: readonly string[]): { names: readonly string[]; mustCall: boolean } {
  if (choice === undefined || choice === null || choice === "auto") return { names: known, mustCall: false };
  if (choice === "none") return { names: [], mustCall: false };
  if (choice === "required") return { names: known, mustCall: true };
  if (typeof choice === "string") return refuse("tool_choice", `"${choice.slice(0, 80)}" is none of auto, none and required`);
  const { allowed_tools: allowed, function: named } = choice;
  const names = allowed ? allowed.tools.map(({ function: one }) => one?.name ?? "") : [named?.name ?? ""];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) refuse("tool_choice", `names the tool "${unknown.slice(0, 80)}", which is not among tools`);
  return { names, mustCall: allowed ? allowed.mode === "required" : true };
}

type Tool = NonNullable<CompletionRequest["tools"]>[number];

/** For OpenAI's server, or for a client made for it. */
const isOther = ({ type }: Tool): boolean => typeof type === "string" && type !== "function";

/** Tells that tools of a request are left out; empty when all are functions. */
export function leftOutNotices({ tools }: CompletionRequest): Notice[] {
  const types = [...new Set((tools ?? []).filter(isOther).map(({ type }) => String(type).slice(0, 80)))];
  if (types.length === 0) return [];
  const message = `Only tools of type function are known here. Others of the request are left out: ${types.join(", ")}.`;
  return [{ code: "tools_left_out", message }];
}

/** The tools of a request; null when the model is to call none. Throws AppError `invalid_request`. */
export function readCallerTools({ tools, tool_choice: choice }: CompletionRequest): CallerTools | null {
  const known = (tools ?? []).flatMap((tool, index) => {
    if (isOther(tool)) return [];
    const parsed = CallerTool.safeParse(tool);
    return parsed.success ? parsed.data : refuse(`tools.${index}`, "must be of type function, with a name and a schema as parameters");
  });
  const { names, mustCall } = readChoice(
    choice,
    known.map(({ function: { name } }) => name),
  );
  if (mustCall && names.length === 0) refuse("tool_choice", "asks for a call, and there are no tools");
  const allowed = known.filter(({ function: { name } }) => names.includes(name));
  return allowed.length > 0 ? { tools: allowed, mustCall } : null;
}

/** The result of a call. `field`: where it stands in the request. */
interface GivenResult {
  callId: string;
  output: string;
  pictures: GivenPicture[];
  field: string;
}

/** The final results of a request, or null. Throws AppError `invalid_request`. */
export function readResults({ messages }: CompletionRequest): GivenResult[] | null {
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  if (start === messages.length) return null;
  const called = messages[start - 1]?.callIds ?? [];
  const given = new Set<string>();
  return messages.slice(start).map(({ tool_call_id: callId, text, images }, index) => {
    const field = `messages.${start + index}.tool_call_id`;
    if (!callId) return refuse(field, "is missing; say which call this is the result of");
    const quoted = `"${callId.slice(0, 80)}"`;
    if (given.has(callId)) refuse(field, `${quoted} has its result in a message before; send one for each call`);
    if (called.length > 0 && !called.includes(callId))
      refuse(field, `${quoted} is no call of the assistant's message before it, which are ${called.join(", ")}`);
    given.add(callId);
    const pictures = images.map(({ place, image_url }) =>
      toGivenPicture(`messages.${start + index}.content.${place}.image_url`, image_url),
    );
    return { callId, output: wordsWithPictures(text, pictures.length), pictures, field };
  });
}

/** The results before a request's message; none when other messages stand between. */
function resultsBefore({ messages }: CompletionRequest): ReadonlyMap<string, string> {
  const end = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const start = messages.slice(0, end).findLastIndex(({ role }) => role !== "tool") + 1;
  return new Map(
    messages.slice(start, end).flatMap(({ tool_call_id: id, text, images }) => (id ? [[id, wordsWithPictures(text, images.length)]] : [])),
  );
}

/** Keeps the results before a message, and ends the turn that waits for them: the message begins its own turn. */
export async function keepResults(
  { stores, config }: { stores: Pick<Stores, "database" | "questions" | "steps">; config: Config },
  owner: Owner,
  completion: CompletionRequest,
): Promise<void> {
  const results = resultsBefore(completion);
  if (results.size === 0) return;
  const { items } = await stores.questions.list(owner, { limit: 200, after: null });
  const found = items.find(({ question }) => question.calls?.some(({ call_id: id }) => results.has(id)));
  const closed = found && (await stores.questions.cancel(owner, found.turnId, config.TURN_LEASE_MS));
  if (!closed) return;
  const agent = closed.state.given.requestedAgent;
  const ended = closed.state.pending.flatMap(({ seq, id, name, arguments: given }): NewStep[] => {
    const output = results.get(id);
    return output === undefined ? [] : [resultStep(agent, seq, { id, name, arguments: given }, output)];
  });
  await stores.steps.begin(closed, ended);
  await endWaiting(makeTurnStore(stores.database), closed);
}

/** Another leg of a turn, which goes on with the results. */
export interface ResumedSource {
  source: TurnSource;
  /** From 2 on. */
  leg: number;
}

/** Throws AppError `invalid_request` when results of these calls are missing. */
function assertComplete(asked: readonly string[], results: readonly GivenResult[]): void {
  const missing = asked.filter((id) => !results.some(({ callId }) => callId === id));
  if (missing.length === 0) return;
  const problem = `lack the results of the calls ${missing.join(", ")}; send one for each call of the answer, all of them as the last messages`;
  refuse("messages", problem);
}

/**
 * Goes on with the turn that waits for these results, found by its calls, or returns null. Throws AppError `invalid_request` when results
 * are missing, and what `Turns.answer` throws.
 */
export async function answerCalls(
  { stores, turns }: { stores: Pick<Stores, "database" | "questions" | "steps">; turns: Turns },
  response: Response,
  {
    owner,
    results,
    isDetached,
    ...reply
  }: { owner: Owner; results: readonly GivenResult[]; pictures: Picture[]; givenAnew: GivenAnew; isDetached: boolean },
): Promise<ResumedSource | null> {
  const { items } = await stores.questions.list(owner, { limit: 200, after: null });
  const callsOf = (question: (typeof items)[number]["question"]): string[] => (question.calls ?? []).map(({ call_id: id }) => id);
  const countIn = (question: (typeof items)[number]["question"]): number =>
    results.filter(({ callId }) => callsOf(question).includes(callId)).length;
  const [found] = items
    .filter(({ question }) => countIn(question) > 0)
    .toSorted((one, other) => countIn(other.question) - countIn(one.question));
  if (!found) return null;
  const { question, turnId } = found;
  const asked = callsOf(question);
  assertComplete(asked, results);
  const given = results.filter(({ callId }) => asked.includes(callId)).map(({ callId, output }) => ({ call_id: callId, output }));
  const { turn } = await turns.answer(owner, turnId, question.id, { results: given, ...reply });
  turns.registry.attach(turnId, response, { cancels: !isDetached });
  return { source: localSource(turn, false), leg: (turn.before?.legs ?? 0) + 1 };
}

/** The input of a turn that goes on with results for another's final calls. */
export interface EndedCalls extends Pick<TurnWithCalls, "sessionId" | "question"> {
  /** The answer that it replaces. */
  continues: string;
  callResults: CallResults;
}

/** Finds the turn that has ended with these calls. Throws AppError `invalid_request` when there is none, or results are missing. */
export async function findEndedCalls(
  { turns }: Pick<Stores, "turns">,
  { owner, sessionId, results, pictures }: { owner: Owner; sessionId: string | null; results: readonly GivenResult[]; pictures: Picture[] },
): Promise<EndedCalls> {
  const outputs = new Map(results.map(({ callId, output }) => [callId, output]));
  const found = await turns.findCalled(owner, [...outputs.keys()], sessionId);
  if (!found) {
    const [first] = results;
    const problem = `no turn waits for a result of the call "${first?.callId.slice(0, 80) ?? ""}": it has its result, or the chat has gone on without it`;
    return refuse(first?.field ?? "messages", problem);
  }
  const { calls, answer: continues, question } = found;
  assertComplete(
    calls.map(({ id }) => id),
    results,
  );
  const given = calls.map((call) => ({ ...call, output: outputs.get(call.id) ?? "" }));
  return { sessionId: found.sessionId, question, continues, callResults: { calls: given, pictures } };
}
