import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { AGENT_NAME, ASSISTANT } from "../../turn/agent.ts";
import { OnBusy } from "../../turn/context.ts";
import type { Picture } from "../../turn/picture.ts";
import { ONCE } from "../../turn/outcome.ts";
import { RetrievalMode, GENERAL } from "../../turn/state.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import { MessageParts, readParts } from "./read-parts.ts";
import { callerId, instructionsText, parseRequest, storableText, uuidField } from "../http/parse-request.ts";
import type { Config } from "../settings/config.ts";
import { findAgent } from "../../agents/catalog/agent-catalog.ts";
import { assertKnowledgeBase } from "../../nodes/routing/route-by-words.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Stores } from "../parts/open-stores.ts";

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(", ")}`;

export const chatMessage = storableText.refine((text) => text.trim() !== "", "is blank; send what the user said").meta({ minLength: 1 });

export const ChatRequest = z.strictObject(
  {
    user_id: callerId,
    session_id: callerId,
    message: chatMessage,
    edit_of: uuidField
      .optional()
      .describe("A message of the user in this conversation: `message` takes its place, on a new branch that leaves before it."),
    regenerate: uuidField
      .optional()
      .describe(
        "An answer in this conversation, in place of `message`: it is given again, on a new branch that leaves behind its question.",
      ),
    instructions: instructionsText
      .optional()
      .describe("What your application tells the model in this turn, behind the service's own instructions. It is not kept."),
    kb_prefix: storableText.nullable().default(null).describe("The knowledge base to answer from; null: the service picks one, or none."),
    agent: z
      .string("must be a string")
      .regex(AGENT_NAME, "must be the name of an agent")
      .nullable()
      .default(null)
      .describe("The agent that answers; null: the service picks one."),
    model: z
      .string("must be a string")
      .nullable()
      .default(null)
      .describe("A model of `GET /api/v1/models` that may be chosen; null: that of the agent or of the service."),
    agent_type: z
      .enum(RetrievalMode.options, oneOf(RetrievalMode.options))
      .nullable()
      .default(null)
      .describe("How documents are searched, or not at all; null: as the `worker` of the knowledge base says, else `hybrid_agent`."),
    remember: z
      .boolean("must be true or false")
      .default(true)
      .describe(
        "`false`: the turn is answered with memory and leaves none; its messages are listed, with `remember: false` in `metadata`.",
      ),
    debug: z.boolean("must be true or false").default(false).describe("Brings the events `execution_log`."),
    interactive: z
      .boolean("must be true or false")
      .default(true)
      .describe("`false`: nobody can be asked; every question is answered at once as if nobody did in time."),
    execution: z
      .enum(["normal", "stepping"], oneOf(["normal", "stepping"]))
      .default("normal")
      .describe(
        "`stepping`: the turn waits before every step, a call of the model or of a tool, until somebody answers `step`, `run` or `stop`.",
      ),
    on_busy: z
      .enum(OnBusy.options, oneOf(OnBusy.options))
      .default("refuse")
      .describe(
        "While another turn holds the conversation: 409 `conversation_busy`, wait in line, or stop that turn, whose answer is kept as incomplete. A turn that waits for an answer is 409 `conversation_waiting`; `cancel_waiting` and `interrupt` end it.",
      ),
    on_disconnect: z
      .enum(["cancel", "continue"], oneOf(["cancel", "continue"]))
      .default("cancel")
      .describe("What becomes of the turn when the client leaves."),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with user_id, session_id and message" : undefined) },
);
export type ChatRequest = z.infer<typeof ChatRequest>;

/** What clients send. */
export const ChatBody = ChatRequest.extend({
  message: z
    .union([chatMessage, MessageParts])
    .optional()
    .describe("What the user says: a text, or parts of text and pictures. Pictures need no text. It is left out with `regenerate`."),
  session_id: callerId.optional().describe("May be left out with `remember: false`: the turn then has a conversation of its own."),
});

const wantsOwnConversation = (body: unknown): body is object =>
  typeof body === "object" && body !== null && "remember" in body && body.remember === false && !("session_id" in body);

/** A pair of surrogates is one. */
function characterCount(text: string): number {
  let pairs = 0;
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) <= 0xffff) continue;
    pairs++;
    index++;
  }
  return text.length - pairs;
}

/** Throws AppError `message_too_long`. */
export function assertNotTooLong(field: string, texts: readonly string[], maxMessageChars: number): void {
  const characters = texts.reduce((sum, text) => sum + characterCount(text), 0);
  if (characters <= maxMessageChars) return;
  const problem = `has ${characters} characters, at most ${maxMessageChars} are taken; shorten it, or raise MAX_MESSAGE_CHARS`;
  throw new AppError("message_too_long", `${field}: ${problem}`, { details: [{ field, problem }] });
}

/** Pictures need no words. */
const WordlessRequest = ChatRequest.extend({ message: storableText });

/** A body with `regenerate` has no message: the question is read later. */
function withoutMessage(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("regenerate" in body) || body.regenerate === undefined) return body;
  const taken = (["message", "edit_of"] as const).filter((field) => field in body);
  if (taken.length > 0) throw AppError.invalid(taken.map((field) => ({ field, problem: "goes with no regenerate; send one of them" })));
  return { ...body, message: "-" };
}

/** `hasPictures`: the message has pictures and may be empty with `regenerate`. Throws AppError `invalid_request` or `message_too_long`. */
export function parseChatRequest(body: unknown, maxMessageChars: number, hasPictures = false): ChatRequest {
  const asked = withoutMessage(body);
  const given = wantsOwnConversation(asked) ? { ...asked, session_id: `${ONCE}${uuidv7()}` } : asked;
  const request = parseRequest(hasPictures ? WordlessRequest : ChatRequest, given);
  if (request.execution === "stepping" && !request.interactive)
    throw AppError.invalid([
      { field: "execution", problem: "cannot be stepping with interactive false, as nobody could say how to go on" },
    ]);
  assertNotTooLong("message", [request.message], maxMessageChars);
  return request;
}

/** A client's body with its message's pictures. Throws what `parseChatRequest` and `readParts` throw. */
export function parseChatBody(
  body: unknown,
  { MAX_MESSAGE_CHARS, MAX_PICTURES }: Pick<Config, "MAX_MESSAGE_CHARS" | "MAX_PICTURES">,
): { body: ChatRequest; pictures: Picture[] } {
  const parts = readParts(body, MAX_PICTURES);
  if (!parts) return { body: parseChatRequest(body, MAX_MESSAGE_CHARS), pictures: [] };
  const { words, pictures } = parts;
  return { body: parseChatRequest({ ...(body as object), message: words }, MAX_MESSAGE_CHARS, pictures.length > 0), pictures };
}

/** What the caller has chosen itself; null: nothing. */
function whatIsChosen({ agent, model, kb_prefix, agent_type, execution }: ChatRequest): Record<string, string> | null {
  const fields = Object.entries({ agent, model, kb_prefix, agent_type, execution: execution === "normal" ? null : execution });
  const named = fields.filter((field): field is [string, string] => typeof field[1] === "string");
  return named.length === 0 ? null : Object.fromEntries(named);
}

/** The turn of a request, without its tenant. With `regenerate` its message is still to be read. */
export function turnInputOf(request: ChatRequest): TurnInput {
  const { edit_of: editOf, regenerate, instructions } = request;
  return {
    userId: request.user_id,
    sessionId: request.session_id,
    message: request.message,
    ...(editOf === undefined ? {} : { editOf }),
    ...(regenerate === undefined ? {} : { regenerate }),
    ...(instructions === undefined ? {} : { instructions }),
    remember: request.remember,
    chosen: whatIsChosen(request),
    debug: request.debug,
    interactive: request.interactive,
    execution: request.execution,
    agentType: request.agent_type,
    requestedKbPrefix: request.kb_prefix,
    requestedAgent: request.agent,
    requestedModel: request.model,
  };
}

/** For a request's key: without what a retry changes, or another version does not know. */
export function whatIsAsked({ remember, interactive, session_id, model, execution, ...others }: ChatRequest): object {
  const asked = {
    ...others,
    ...(model === null ? {} : { model }),
    ...(interactive ? {} : { interactive }),
    ...(execution === "normal" ? {} : { execution }),
  };
  if (remember) return { ...asked, session_id };
  return { ...asked, remember, session_id: session_id.startsWith(ONCE) ? null : session_id };
}

type Parts = { agents: Agents } & { stores: Pick<Stores, "knowledgeBases"> };

/** Throws AppError `invalid_request`, which lists the known ones, for a knowledge base or agent that the tenant lacks. */
export async function assertKnown(
  { agents, stores: { knowledgeBases } }: Parts,
  tenantId: string,
  { kb_prefix: base, agent }: { kb_prefix: string | null; agent: string | null },
): Promise<void> {
  async function assertBase(): Promise<void> {
    if (base === null || base === GENERAL || (await knowledgeBases.find(tenantId, base))) return;
    assertKnowledgeBase(base, await knowledgeBases.list(tenantId));
  }
  async function assertAgent(): Promise<void> {
    if (agent !== null && agent !== ASSISTANT) findAgent(await agents.catalog.list(tenantId), agent);
  }
  await Promise.all([assertBase(), assertAgent()]);
}
