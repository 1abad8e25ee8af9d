import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startOAuthMcpServer } from "../../servers/oauth-mcp-server.ts";
import type { Waiting } from "../../../turn/events.ts";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, readEvents } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { calls, useAgentService } from "../api/agents/agent-service.ts";

const PUBLIC = "http://service.example.org/chat";

describe("an MCP server that wants OAuth", () => {
  let server: Awaited<ReturnType<typeof startOAuthMcpServer>>;
  beforeAll(async () => {
    server = await startOAuthMcpServer();
  });
  afterAll(() => server.close());

  const environment = { SECRETS_KEY: "a key of more than thirty-two characters", PUBLIC_URL: PUBLIC };
  const { opened, follow, makeAgent, chats } = useAgentService(environment, { mcp: { reach: { isAllowed: () => true } } });
  beforeAll(async () => {
    expect((await putJson(`${opened.url}/api/v1/mcp-servers/private`, { url: server.url })).status).toBe(201);
    await makeAgent("reader", { tools: ["mcp__*"], permissions: [{ tool: "mcp__*", action: "allow" }] });
  });

  let sessions = 0;
  /** A turn that calls one tool: its result, and what a notice says. */
  async function call(user: string, name: string) {
    follow([calls(name, {})], "Done.");
    const body = { user_id: user, session_id: `s-${sessions++}`, message: "go", agent: "reader" };
    const { events } = await postTurn(opened.url, body);
    const results = events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content] : []));
    const notices = events.flatMap(({ data }) => (data.status === "notice" ? [data.content.message] : []));
    return {
      ok: results[0]?.ok,
      output: results[0]?.output ?? "",
      notice: notices.join(),
      tools: chats()
        .at(-1)
        ?.body.tools?.map(({ function: { name: one } }) => one),
    };
  }

  /** Opens the address as a browser does; where it comes back to, at the service itself. */
  async function openAddress({ sign_in }: Waiting["question"]): Promise<string> {
    const address = sign_in?.url ?? "none";
    const location = (await fetch(address, { redirect: "manual" })).headers.get("location") ?? "none";
    expect(location.startsWith(`${PUBLIC}/mcp/signed-in?`)).toBe(true);
    return location.replace(PUBLIC, opened.url);
  }

  /** A turn that asks its user to sign in, and would then say hello. */
  async function untilAsked(user: string): Promise<Waiting> {
    follow([calls("mcp__private__sign_in", {})], [calls("mcp__private__hello", {})], "Done.");
    const body = { user_id: user, session_id: `s-${sessions++}`, message: "go", agent: "reader" };
    return contentOf((await postTurn(opened.url, body)).events, "waiting");
  }
  /** The turn goes on with the answer: its results, and what its model read of the first call. */
  async function answer({ turn_id, question }: Waiting, label: string) {
    const address = `${opened.url}/api/v1/turns/${turn_id}/answers`;
    expect((await postJson(address, { question_id: question.id, answer: label })).status).toBe(201);
    const { events } = await readEvents(await fetch(`${opened.url}/api/v1/turns/${turn_id}/stream`));
    const results = events.flatMap(({ data }) => (data.status === "tool_result" ? [[data.content.name, data.content.output]] : []));
    return { results, notices: events.filter(({ data }) => data.status === "notice").length, last: events.at(-1)?.data.status };
  }

  test("gives each user an address to open, and shows its tools only to users who have signed in", async () => {
    expect(await call("ada", "mcp__private__hello")).toMatchObject({
      tools: ["mcp__private__sign_in"],
      notice: expect.stringMatching(/"private" .*sign in.*Open this address to sign in: http:\/\/localhost/),
    });
    const asked = await untilAsked("ada");
    expect(asked.question).toMatchObject({
      type: "decision",
      sign_in: { server: "private", url: expect.stringMatching(/^http:\/\/localhost/) as unknown },
      options: [{ label: "signed_in" }, { label: "skip" }],
    });
    const back = await openAddress(asked.question);
    const done = await fetch(back);
    expect([done.status, await done.text()]).toEqual([
      200,
      'You have signed in at "private". Close this page, and go on where the address was shown.',
    ]);
    expect(await answer(asked, "signed_in")).toEqual({
      results: [
        ["mcp__private__sign_in", 'The person chose "signed_in".'],
        ["mcp__private__hello", "hello"],
      ],
      notices: 0,
      last: "done",
    });
    expect(await call("ada", "mcp__private__hello")).toMatchObject({ ok: true, output: "hello", notice: "" });
    expect((await call("eve", "mcp__private__hello")).tools).toEqual(["mcp__private__sign_in"]);
    expectRefusal(await callApi(back), { status: 400, code: "invalid_request", field: "code" });
  });

  test("gets the user's own token, which is refreshed when it has expired and is shown to nobody", async () => {
    const shown = await call("ada", "mcp__private__whoami");
    expect(shown.output).toBe("Bearer [secret]");
    server.expire();
    expect(await call("ada", "mcp__private__hello")).toMatchObject({ ok: true, output: "hello" });
    expect(server.seen.refreshed).toBe(1);
    expect(JSON.stringify(chats().map(({ body }) => body))).not.toMatch(/(access|refresh)-[\da-f]{8}-/);
  });

  test("asks the user again after the grant was revoked", async () => {
    server.revoke();
    const refused = await call("ada", "mcp__private__hello");
    expect(refused).toMatchObject({ ok: false, output: expect.stringContaining("sign_in_needed") as unknown });
    const asked = await untilAsked("ada");
    expect((await fetch(await openAddress(asked.question))).status).toBe(200);
    expect(await answer(asked, "signed_in")).toMatchObject({ results: [{}, ["mcp__private__hello", "hello"]], last: "done" });
    expect(await call("ada", "mcp__private__hello")).toMatchObject({ ok: true, output: "hello" });
  });

  test("is left out when its user does not sign in or cannot be asked", async () => {
    const asked = await untilAsked("eve");
    const { results } = await answer(asked, "skip");
    expect(results).toEqual([
      ["mcp__private__sign_in", 'The person chose "skip".'],
      ["mcp__private__hello", expect.stringContaining("unknown_tool")],
    ]);
    follow([calls("mcp__private__sign_in", {})], "Done.");
    const body = { user_id: "eve", session_id: "alone", message: "go", agent: "reader", interactive: false };
    const { events } = await postTurn(opened.url, body);
    const output = events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content.output] : []));
    expect(output).toEqual([expect.stringContaining("Nobody can be asked.")]);
  });

  test("takes no sign-in without a code or with a state that the service did not give", async () => {
    const at = (query: string) => callApi(`${opened.url}/mcp/signed-in?${query}`);
    expectRefusal(await at("state=x&code=y"), { status: 400, code: "invalid_request", field: "state" });
    expectRefusal(await at("state=x&error=access_denied"), { status: 400, code: "invalid_request", field: "code" });
    expectRefusal(await at("code=y"), { status: 400, code: "invalid_request", field: "state" });
  });

  test("keeps sign-ins for its own address only, even when another server gets its name", async () => {
    const another = await startOAuthMcpServer();
    const named = `${opened.url}/api/v1/mcp-servers/private`;
    const places = async () => (await callApi<{ places: object[] }>(`${opened.url}/api/v1/users/ada/audit`)).json.places;
    const kept = async () => JSON.stringify(await places()).includes("mcp_grants");
    try {
      expect((await putJson(named, { url: `${server.url}?version=2` })).status).toBe(200);
      expect(await call("ada", "mcp__private__hello")).toMatchObject({ ok: true, output: "hello" });
      const begun = await untilAsked("max");
      const back = await openAddress(begun.question);

      expect((await putJson(named, { url: another.url })).status).toBe(200);
      expect(await kept()).toBe(false);
      expect((await call("ada", "mcp__private__hello")).tools).toEqual(["mcp__private__sign_in"]);
      expectRefusal(await callApi(back), { status: 400, code: "invalid_request", field: "state" });
      expect(another.seen.authorizations.length).toBeGreaterThan(0);
      expect(another.seen.authorizations.filter((sent) => sent !== undefined)).toEqual([]);
      expect(another.seen.urls.filter((url) => url.startsWith("/token"))).toEqual([]);

      expect((await fetch(await openAddress((await untilAsked("ada")).question))).status).toBe(200);
      expect([await kept(), (await callApi(named, { method: "DELETE" })).status, await kept()]).toEqual([true, 200, false]);
      expect((await putJson(named, { url: server.url })).status).toBe(201);
      expect((await fetch(await openAddress((await untilAsked("ada")).question))).status).toBe(200);
    } finally {
      await another.close();
    }
  });

  test("loses a user's sign-in when the user is erased", async () => {
    expect((await callApi(`${opened.url}/api/v1/users/ada`, { method: "DELETE" })).status).toBe(200);
    expect((await callApi<{ places: object[] }>(`${opened.url}/api/v1/users/ada/audit`)).json.places).toEqual([]);
  });
});
