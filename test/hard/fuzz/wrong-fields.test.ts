import { describe, expect, test } from "@jest/globals";
import { OPERATIONS } from "../../../server/openapi/operations.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { problemOf } from "./fuzz-answer.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

const LEVELS = 20_000;
const DEEP = "[".repeat(LEVELS) + "]".repeat(LEVELS);
const MANY = `[${"0,".repeat(400_000)}0]`;
const KEYS = `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}":0`).join(",")}}`;
const IMPORT = "/api/v1/conversations/import";
const COMPLETIONS = "/v1/chat/completions";
const TITLE =
  '{"model":"conversation-graph","user":"ada","messages":[{"role":"user","content":"x"}],"metadata":{"task":"title_generation"}';

describe("a request that is wrong in one field", () => {
  const running = useServiceWithEpisodes();

  async function fieldsNamed(method: string, path: string, body: string): Promise<string[]> {
    const headers = { "content-type": "application/json" };
    const answer = await callApi(running.url + path, { method: method.toUpperCase(), headers, body });
    expect({ status: answer.status, text: answer.text.slice(0, 500) }).toMatchObject({ status: 400 });
    expect(problemOf(path, false, { ...answer, headers: Object.fromEntries(answer.headers) })).toBeUndefined();
    expect(answer.text.length).toBeLessThan(50_000);
    const { details, param } = answer.json.error as { details?: { field: string }[]; param?: string };
    return details?.map(({ field }) => field) ?? [param ?? ""];
  }

  test.each([
    ["messages.0.metadata", IMPORT, `{"user_id":"a","session_id":"s","messages":[{"role":"user","content":"x","metadata":{"a":${DEEP}}}]}`],
    [
      "response_format.json_schema.schema",
      COMPLETIONS,
      `${TITLE},"response_format":{"type":"json_schema","json_schema":{"schema":${DEEP}}}}`,
    ],
    [
      "tools.0.function.parameters",
      COMPLETIONS,
      `${TITLE},"tool_choice":"required","tools":[{"function":{"name":"x","parameters":${DEEP}}}]}`,
    ],
    ["messages", COMPLETIONS, `{"model":"conversation-graph","messages":${MANY}}`],
    ["messages", IMPORT, `{"user_id":"a","session_id":"s","messages":${MANY}}`],
    ["body", COMPLETIONS, `{"model":"conversation-graph","messages":[],"x":[${MANY},${MANY}]}`],
    ["k0", IMPORT, KEYS],
  ])("is refused with a short answer that names the field when %s of %s nests too deep or has too much", async (field, path, body) => {
    expect(await fieldsNamed("post", path, body)).toContain(field);
  });

  test.each(["%ff", "%", "a%zz", "%ed%a0%80"])(
    "is refused when the user_id in its query has the encoding %s, which would be read as something else",
    async (broken) => {
      const { status, json } = await callApi(`${running.url}/api/v1/conversations?limit=3&user_id=${broken}`);
      expect({ status, fields: json.error.details?.map(({ field }) => field) }).toEqual({ status: 400, fields: ["user_id"] });
    },
  );

  test("is refused with the number of the problems that are not listed", async () => {
    const headers = { "content-type": "application/json" };
    const { json } = await callApi(`${running.url}/api/v1/conversations/import`, { method: "POST", headers, body: KEYS });
    expect(json.error.details).toHaveLength(51);
    expect(json.error.message).toMatch(/; body: has 99953 more problems$/);
  });

  /** Of LangGraph's protocol, whose clients put other things in there, too. */
  const ANY_OBJECTS = ["input", "command", "checkpoint", "config", "context", "before", "filter", "value", "values"];
  const WITH_BODY = OPERATIONS.flatMap(({ method, path, body }) => {
    const schema = body?.["application/json"] as { shape?: Record<string, unknown> } | undefined;
    return Object.keys(schema?.shape ?? {}).map((field) => [method, path, field] as const);
  });
  test.each(WITH_BODY)("to %s %s is refused with the name of the field %s", async (method, path, field) => {
    const wrong = JSON.stringify({ [field]: { wrong: [1] } });
    const place = path.replace(":kb", "travel").replace(":section", "profile").replace(/:\w+/, "ada");
    const isAnyObject = ["metadata", "params", ...(path.startsWith("/langgraph") ? ANY_OBJECTS : [])].includes(field);
    const named = await fieldsNamed(method, place, isAnyObject ? `{"${field}":7}` : wrong);
    if (path.startsWith("/v1")) expect(named[0]).toBeTruthy();
    else expect(named.some((name) => name === field || name.startsWith(`${field}.`))).toBe(true);
  });
});
