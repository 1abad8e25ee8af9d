import { z } from "zod";
import type { Step } from "../../stores/postgres/agents/step-store.ts";
import { time } from "../http/operation.ts";

export const TurnStep = z
  .object({
    seq: z.int(),
    agent: z.string(),
    path: z.array(z.string()).describe("The agents from the one that leads to the one at work."),
    kind: z.enum(["model", "tool", "question", "plan", "compaction", "agent"]),
    name: z.string().describe("Of the model or of the tool."),
    call_id: z.string().nullable(),
    arguments: z.unknown(),
    output: z.string().nullable().describe("Null while it runs, and for the model's last answer, which is the message."),
    ok: z.boolean().nullable().describe("Null when it has not ended."),
    ms: z.number().nullable(),
    tokens: z.int(),
    started_at: time,
  })
  .describe("What a turn did. One that never ended was cut off with its process.");

export const toTurnStep = ({ callId, startedAt, endedAt, path, ...step }: Step) => {
  const { seq, agent, kind, name, arguments: given, output, ok, tokens } = step;
  const ms = endedAt && endedAt.getTime() - startedAt.getTime();
  const by = { seq, agent, path, kind, name, call_id: callId };
  return { ...by, arguments: given ?? null, output, ok, ms, tokens, started_at: startedAt };
};
