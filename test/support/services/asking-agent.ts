import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { type AgentTool, fromLangChainTool } from "../../../agents/tool.ts";
import { QUESTION_CHANNEL } from "../../../stores/postgres/turns/question-rows.ts";
import type { Question } from "../../../turn/question.ts";
import type { Waiting } from "../../../turn/events.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import type { ScriptedToolCall } from "../../servers/model-server.ts";
import { callApi, postJson, putJson } from "../clients/api-client.ts";
import { contentOf, type EventStreamResponse, postTurn, readEvents, type StreamOptions } from "../clients/event-client.ts";
import type { ServiceWithModel } from "./service-with-model.ts";

/** What the tool `order` was called with, in order, as JSON. */
export const ordered: string[] = [];

const order = tool(
  (given) => {
    ordered.push(JSON.stringify(given));
    return `ordered ${String(given["item"])}`;
  },
  { name: "order", description: "Orders an item.", schema: z.looseObject({ item: z.string() }) },
);
const lookUp = tool(() => "12 left", { name: "look_up", description: "Looks up the stock.", schema: z.looseObject({}) });
const atCaller = tool(() => "never", { name: "at_caller", description: "Runs at the caller.", schema: z.looseObject({}) });

/** `order` changes something, `look_up` only reads, `at_caller` is run by the caller. */
export const ORDER_TOOLS: AgentTool[] = [
  fromLangChainTool(order),
  fromLangChainTool(lookUp, { onlyReads: true }),
  { ...fromLangChainTool(atCaller), runsAtCaller: true },
];

export const callOf = (name: string, given: unknown, id?: string): ScriptedToolCall => ({ name, arguments: given, ...(id ? { id } : {}) });

export const statuses = ({ events }: EventStreamResponse): TurnEvent["status"][] => events.map(({ data }) => data.status);

export interface StoredTurn {
  state: string;
  question: Question | null;
  error: { code: string } | null;
}

/** As if the time of all open questions were over. */
export const expireQuestions = (database: { query: (statement: { text: string }) => Promise<unknown> }): Promise<unknown> =>
  database.query({
    text: `with due as (update questions set expires_at = clock_timestamp() where answered_at is null) select pg_notify('${QUESTION_CHANNEL}', '0')`,
  });

let sessions = 0;

/** What tests of questions ask of a service. */
export function askingClient(service: Pick<ServiceWithModel, "url" | "model">, headers: Record<string, string> = {}) {
  const { url, model } = service;
  const client = {
    async makeAgent(name: string, spec: object = {}): Promise<void> {
      const { status, text } = await putJson(`${url}/api/v1/agents/${name}`, { description: "Orders", tools: ["*"], ...spec }, headers);
      if (status >= 300) throw new Error(text);
    },
    /** The model calls what the script says for each of its rounds in a turn; with a text it answers. */
    follow(...script: (ScriptedToolCall[] | string)[]): void {
      model.answer(({ messages }) => {
        const rounds = messages.slice(messages.findLastIndex(({ role }) => role === "user")).filter(({ role }) => role === "assistant");
        const next = script[Math.min(rounds.length, script.length - 1)] ?? "nothing";
        return typeof next === "string" ? { tokens: [next] } : { toolCalls: next };
      });
    },
    ask(agent: string, fields: object = {}, options: StreamOptions = {}): Promise<EventStreamResponse> {
      const body = { user_id: "ada", session_id: `asking-${sessions++}`, message: "Order tea.", agent, ...fields };
      return postTurn(url, body, { ...options, headers: { ...headers, ...options.headers } });
    },
    /** Asks, and expects a question. */
    async untilWaiting(agent: string, fields: object = {}): Promise<Waiting> {
      return contentOf((await client.ask(agent, fields)).events, "waiting");
    },
    answer: ({ turn_id, question }: Waiting, body: object, at = url) =>
      postJson(`${at}/api/v1/turns/${turn_id}/answers`, { question_id: question.id, ...body }, headers),
    /** The events behind the answer. */
    async rest({ turn_id }: Pick<Waiting, "turn_id">, at = url, lastEventId?: string): Promise<EventStreamResponse> {
      const behind = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      return readEvents(await fetch(`${at}/api/v1/turns/${turn_id}/stream`, { headers: { ...headers, ...behind } }));
    },
    async turn({ turn_id }: Pick<Waiting, "turn_id">, at = url): Promise<StoredTurn> {
      return (await callApi<StoredTurn>(`${at}/api/v1/turns/${turn_id}`, { headers })).json;
    },
    async open(userId = "ada"): Promise<(Question & { turn_id: string })[]> {
      return (await callApi<{ questions: (Question & { turn_id: string })[] }>(`${url}/api/v1/questions?user_id=${userId}`, { headers }))
        .json.questions;
    },
    async permissions(userId = "ada"): Promise<{ id: string; agent: string; tool: string }[]> {
      const path = `${url}/api/v1/users/${userId}/permissions`;
      return (await callApi<{ permissions: { id: string; agent: string; tool: string }[] }>(path, { headers })).json.permissions;
    },
  };
  return client;
}
