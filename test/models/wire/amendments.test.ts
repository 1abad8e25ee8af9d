import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { findAmendment, findBatch } from "../../../models/wire/amendments.ts";
import { ServerFailure } from "../../../models/wire/server-failure.ts";
import type { WireMessage } from "../../../models/wire/wire-message.ts";

interface Refusal {
  server: string;
  status: number;
  body: unknown;
  amendment: string;
  source: string;
}

/** Words that servers were seen to refuse requests with, each with its source in public. */
const REFUSALS = JSON.parse(readFileSync(new URL("parameter-refusals.json", import.meta.url), "utf8")) as Refusal[];

const call = (id: string, more = {}) => ({ id, type: "function" as const, function: { name: "map", arguments: "{}" }, ...more });

/** A request that has everything that some server refuses. */
function requestFor(amendment: string) {
  const echo = amendment === "calls_in_words" ? {} : { reasoning_content: "I look." };
  const role = amendment === "no_developer" ? ("developer" as const) : ("system" as const);
  const messages: WireMessage[] = [
    { role, content: "Be brief." },
    { role: "user", content: "Where?" },
    { role: "assistant", content: null, tool_calls: [call("call_of_a_server_of_ours"), call("another")], ...echo },
    { role: "tool", tool_call_id: "call_of_a_server_of_ours", name: "map", content: "Here." },
    { role: "tool", tool_call_id: "another", name: "map", content: "There." },
    ...(amendment === "user_last" ? [{ role: "assistant" as const, content: "It is" }] : []),
  ];
  const bound = amendment === "max_tokens" ? { max_completion_tokens: 9 } : { max_tokens: 9 };
  const sampling = { stream_options: { include_usage: true }, temperature: 0, top_p: 1, parallel_tool_calls: true };
  const forms = { tool_choice: "required", response_format: { type: "json_schema" } };
  const body = { model: "m", messages, ...bound, ...sampling, ...forms };
  const embedding = { model: "e", input: Array.from({ length: 200 }, String), encoding_format: "float", dimensions: 256 };
  const isEmbedding = ["no_encoding_format", "no_dimensions", "batch"].includes(amendment);
  const url = new URL(`http://model.test/v1/${isEmbedding ? "embeddings" : "chat/completions"}`);
  return { body: isEmbedding ? embedding : body, url, asked: new Set<string>() };
}

const asBody = (body: unknown): unknown => (typeof body === "string" ? { error: { message: body } } : body);
const failureOf = ({ status, body }: Pick<Refusal, "status" | "body">) => new ServerFailure({ status, body: asBody(body) });

describe("what servers say in public leads to", () => {
  const rows = REFUSALS.map(({ server, ...refusal }) => [server, refusal] as const);

  test.each(rows.filter(([, { amendment }]) => amendment !== "batch" && amendment !== "none"))(
    "the amendment that helps: %s",
    (_, refusal) => {
      expect(findAmendment(failureOf(refusal), requestFor(refusal.amendment))).toBe(refusal.amendment);
    },
  );

  test.each(rows.filter(([, { amendment }]) => amendment === "none"))("no amendment where none helps: %s", (_, refusal) => {
    expect(findAmendment(failureOf(refusal), requestFor("none"))).toBeNull();
  });

  test.each(rows.filter(([, { amendment }]) => amendment === "batch"))("a smaller batch: %s", (_, refusal) => {
    const batch = findBatch(failureOf(refusal), 200);
    expect(batch).toBeGreaterThan(0);
    expect(batch).toBeLessThan(200);
  });
});
