import type { ChatRequestBody, ModelScript, ScriptedToolCall } from "../../servers/model-server.ts";
import { callApi } from "../clients/api-client.ts";
import type { EventStreamResponse } from "../clients/event-client.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import { askingClient, callOf } from "./asking-agent.ts";
import type { ServiceWithModel } from "./service-with-model.ts";

/** What an agent's model says in one round: calls, the words of its answer, or more. */
export type Says = ScriptedToolCall[] | string | ModelScript;

export interface TeamStep {
  seq: number;
  agent: string;
  path: string[];
  kind: string;
  name: string;
  arguments: Record<string, unknown> | null;
  output: string | null;
  ok: boolean | null;
}

export const give = (agent: string, task: string, id?: string): ScriptedToolCall => callOf("ask_agent", { agent, task }, id);
export const handTo = (agent: string, reason = "They know more."): ScriptedToolCall => callOf("handoff_to", { agent, reason });

/** The agent whose instructions a prompt holds. */
const agentOf = ({ messages }: ChatRequestBody): string => /I am "([a-z\d-]+)"/.exec(messages[0]?.content ?? "")?.[1] ?? "";

/** The rounds of an agent behind the message that it answers. */
function roundsIn({ messages }: ChatRequestBody): number {
  const said = messages.findLastIndex(({ role, content }) => role === "user" && !content.includes("no more tools can be called"));
  return messages.slice(said).filter(({ tool_calls }) => tool_calls).length;
}

/** What tests of teams ask of a service. */
export function teamClient(service: Pick<ServiceWithModel, "url" | "model">, sent: Record<string, string> = {}) {
  const client = askingClient(service, sent);
  const toScript = (says: Says): ModelScript => {
    if (typeof says === "string") return { tokens: [says] };
    return Array.isArray(says) ? { toolCalls: says } : says;
  };
  return {
    ...client,
    /** Makes these agents, members first. Each knows its own name. */
    async makeTeam(specs: Record<string, object>): Promise<void> {
      for (const [name, spec] of Object.entries(specs))
        await client.makeAgent(name, { tools: [], instructions: `I am "${name}".`, ...spec });
    },
    /** What each agent says, round by round; the last one again and again. Without tools it answers. */
    play(script: Record<string, Says[]>): void {
      service.model.answer((body) => {
        const of = script[agentOf(body)] ?? [];
        const says = of[Math.min(roundsIn(body), of.length - 1)] ?? "nothing";
        return toScript(Array.isArray(says) && !body.tools ? "From what there is." : says);
      });
    },
    /** The prompts of an agent. */
    prompts: (name: string) => service.model.seen.map(({ body }) => body).filter((body) => agentOf(body) === name),
    async steps({ headers }: Pick<EventStreamResponse, "headers">): Promise<TeamStep[]> {
      return (await callApi<{ steps: TeamStep[] }>(`${service.url}/api/v1/turns/${headers.get("x-turn-id")}/steps`, { headers: sent })).json
        .steps;
    },
  };
}

type ContentOf<Status> = Extract<TurnEvent, { status: Status }>["content"];

/** The contents of a turn's events of one kind. */
export const allOf = <Status extends TurnEvent["status"]>({ events }: Pick<EventStreamResponse, "events">, status: Status) =>
  events.flatMap(({ data }): ContentOf<Status>[] => (data.status === status ? [data.content as ContentOf<Status>] : []));
