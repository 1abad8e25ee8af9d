import type { Client } from "@langchain/langgraph-sdk";
import type { AgentServerAdapter } from "@langchain/react";

type Command = Parameters<AgentServerAdapter["send"]>[0];
type Handle = ReturnType<NonNullable<AgentServerAdapter["openEventStream"]>>;
type ProtocolEvent = Extract<Handle["events"] extends AsyncIterable<infer Message> ? Message : never, { type: "event" }>;
type Message = { id?: string; type: string; content: string };
type Values = { messages?: Message[]; __interrupt__?: { id: string; value: unknown }[] };

/**
 * Runs of the older protocol as events of the newer one, which `useStream` of `@langchain/react` reads: `lifecycle`, `values`,
 * `messages` and `input`.
 */
export function makeAdapter(client: Client, assistantId: string): AgentServerAdapter {
  let threadId = "";
  const told: ProtocolEvent[] = [];
  let grown = Promise.withResolvers<undefined>();

  function tell(method: "lifecycle" | "values" | "messages" | "input.requested", data: object): void {
    const seq = told.length + 1;
    const params = { namespace: [], timestamp: Date.now(), data };
    told.push({ type: "event", event_id: `${threadId}-${seq}`, seq, method, params } as unknown as ProtocolEvent);
    grown.resolve(undefined);
    grown = Promise.withResolvers();
  }

  /** Pieces of an answer, as blocks of content. */
  function sayMore({ id = "", content }: Message, said: Map<string, string>): void {
    if (!said.has(id)) {
      tell("messages", { event: "message-start", id, role: "ai" });
      tell("messages", { event: "content-block-start", index: 0, content: { type: "text", text: "" } });
    }
    said.set(id, (said.get(id) ?? "") + content);
    tell("messages", { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: content } });
  }

  function finish(id: string, text: string): void {
    tell("messages", { event: "content-block-finish", id, index: 0, content: { type: "text", text } });
    tell("messages", { event: "message-finish", id });
  }

  async function run(asked: object, onRun: (runId: string) => void): Promise<void> {
    const said = new Map<string, string>();
    const end: { event: string; error?: string } = { event: "completed" };
    tell("lifecycle", { event: "running" });
    try {
      const onRunCreated = ({ run_id: runId }: { run_id: string }): void => onRun(runId);
      const options = {
        ...asked,
        streamMode: ["values", "messages-tuple"] as ["values", "messages-tuple"],
        ifNotExists: "create" as const,
        onRunCreated,
      };
      for await (const { event, data } of client.runs.stream(threadId, assistantId, options)) {
        if (event === "error") Object.assign(end, { event: "failed", error: (data as { message: string }).message });
        if (event === "values") {
          const values = data as Values;
          tell("values", values);
          for (const { id, value } of values.__interrupt__ ?? []) tell("input.requested", { interrupt_id: id, payload: value });
          if (values.__interrupt__) end.event = "interrupted";
        } else if (event === "messages") sayMore((data as unknown as [Message])[0], said);
      }
      for (const [id, text] of said) finish(id, text);
    } catch (error) {
      Object.assign(end, { event: "failed", error: String(error) });
    }
    tell("lifecycle", end);
  }

  return {
    get threadId() {
      return threadId;
    },
    setThreadId(id) {
      threadId = id;
    },
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *events() {
      yield* [];
    },
    async send({ id, method, params }: Command) {
      if (method !== "run.start" && method !== "input.respond")
        return { type: "error", id, error: "not_supported", message: `"${method}" is not served` };
      const { input, config, response } = params as { input?: object; config?: object; response?: unknown };
      const asked = method === "run.start" ? { input, config } : { command: { resume: response } };
      const { promise: created, resolve } = Promise.withResolvers<string>();
      const ended = run(asked, resolve).then(() => "");
      return { type: "success", id, result: { run_id: await Promise.race([created, ended]) } };
    },
    openEventStream({ channels }) {
      const wanted = new Set<string>(channels);
      let isOpen = true;
      async function* read() {
        for (let place = 0; isOpen;) {
          const event = told[place];
          if (event) {
            place++;
            if (wanted.has(event.method === "input.requested" ? "input" : event.method)) yield event;
          } else await grown.promise;
        }
      }
      return {
        events: read(),
        ready: Promise.resolve(),
        close() {
          isOpen = false;
          grown.resolve(undefined);
          grown = Promise.withResolvers();
        },
      };
    },
  };
}
