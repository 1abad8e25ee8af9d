import { expect } from "@jest/globals";
import type { TurnEvent } from "../../../../turn/events.ts";
import type { ScriptedToolCall } from "../../../servers/model-server.ts";
import { callApi, putJson } from "../../../support/clients/api-client.ts";
import { postTurn } from "../../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

/** A call of a tool, for `follow`. */
export const calls = (name: string, given: unknown, id?: string): ScriptedToolCall => ({ name, arguments: given, ...(id ? { id } : {}) });

/** A service with every layer, whose model calls tools by a script. */
export function useAgentService(environment: Record<string, string> = {}, options: Parameters<typeof useServiceWithModel>[1] = {}) {
  const opened = useServiceWithModel(
    {
      MEMORY_MODEL: "test-memory",
      SUMMARY_MODEL: "test-memory",
      ENABLE_CORE_MEMORY: "true",
      ENABLE_EPISODIC_MEMORY: "true",
      EMBEDDING_MODEL: "built-in",
      ...environment,
    },
    options,
  );
  let sessions = 0;
  /** The model calls what the script says for the n-th request of a turn; with a text it answers. */
  function follow(...script: (ScriptedToolCall[] | string)[]): void {
    let asked = 0;
    opened.model.answer((body) => {
      if (body.model !== "test-chat") return { tokens: ["nothing"] };
      if (!body.tools && typeof script[asked] !== "string" && asked > 0) return { tokens: ["from what there is"] };
      const next = script[Math.min(asked++, script.length - 1)] ?? "nothing";
      return typeof next === "string" ? { tokens: [next] } : { toolCalls: next };
    });
  }

  async function makeAgent(name: string, spec: object): Promise<void> {
    const { status } = await putJson(`${opened.url}/api/v1/agents/${name}`, { description: "Helps", ...spec });
    expect(status).toBeLessThan(300);
  }

  /** Requests of the chat model. */
  const chats = () => opened.model.seen.filter(({ body: { model } }) => model === "test-chat");

  /** A turn of an agent, with its events and steps. */
  async function ask(agent: string, message: string, sessionId = `agents-${sessions++}`, fields: object = {}) {
    const { events, headers } = await postTurn(opened.url, { user_id: "ada", session_id: sessionId, message, agent, ...fields });
    type ContentOf<Status> = Extract<TurnEvent, { status: Status }>["content"];
    const of = <Status extends TurnEvent["status"]>(status: Status): ContentOf<Status>[] =>
      events.flatMap(({ data }) => (data.status === status ? [data.content as ContentOf<Status>] : []));
    const turnId = headers.get("x-turn-id") ?? "";
    const { json } = await callApi<{ steps: Record<string, unknown>[] }>(`${opened.url}/api/v1/turns/${turnId}/steps`);
    return { events: events.map(({ data }) => data.status), of, steps: json.steps, turnId, done: of("done")[0] };
  }
  return { opened, follow, makeAgent, chats, ask };
}
