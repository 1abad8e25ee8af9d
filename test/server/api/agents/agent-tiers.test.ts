import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useAgentService } from "./agent-service.ts";

const AGENTS_DIR = mkdtempSync(path.join(tmpdir(), "agents-"));
writeFileSync(
  path.join(AGENTS_DIR, "clerk.json"),
  JSON.stringify({ description: "Keeps the books", instructions: "You are of the file." }),
);

const { opened, follow, chats, ask } = useAgentService(
  { AGENTS_DIR },
  { extras: { agents: { coder: { description: "Writes code", instructions: "You are of the program." } } } },
);

interface Listed {
  name: string;
  tier: string;
  disabled: boolean;
  version: number | null;
}
const url = (name = "") => `${opened.url}/api/v1/agents${name && `/${name}`}`;
const put = (name: string, body: object) => putJson<Listed>(url(name), body);
const remove = (name: string) => callApi(url(name), { method: "DELETE" });
const listed = async () =>
  (await callApi<{ agents: Listed[] }>(url())).json.agents.map(({ name, tier, disabled }) => [name, tier, disabled]);

/** Which of them answers a turn that names it. */
async function whoAnswers(name: string): Promise<string | undefined> {
  follow("Done.");
  await ask(name, "hello");
  return /You are of the (\w+)/.exec(chats().at(-1)?.body.messages[0]?.content ?? "")?.[1];
}

afterEach(async () => {
  for (const name of ["clerk", "coder"]) await remove(name);
});

describe("agents of the system", () => {
  test("are those of files and of a program, for every tenant", async () => {
    expect(await listed()).toEqual([
      ["assistant", "system", false],
      ["clerk", "system", false],
      ["coder", "system", false],
    ]);
    expect([await whoAnswers("clerk"), await whoAnswers("coder")]).toEqual(["file", "program"]);
  });

  test("give way to the tenant's of that name until it is deleted", async () => {
    const made = await put("clerk", { description: "Ours", instructions: "You are of the tenant." });
    expect([made.status, made.json]).toMatchObject([201, { tier: "tenant", version: 1, disabled: false }]);
    expect(await whoAnswers("clerk")).toBe("tenant");
    expect((await remove("clerk")).status).toBe(200);
    expect(await whoAnswers("clerk")).toBe("file");
  });

  test("are switched off for a tenant, answer none of its turns, and come back", async () => {
    expect((await put("clerk", { disabled: true })).json).toMatchObject({ tier: "tenant", disabled: true });
    expect((await listed()).slice(1)).toEqual([
      ["clerk", "tenant", true],
      ["coder", "system", false],
    ]);
    const turn = { user_id: "ada", session_id: "off", message: "hello", agent: "clerk" };
    expectRefusal(await postJson(`${opened.url}/api/v1/chat`, turn), { status: 400, code: "invalid_request", field: "agent" });
    expect((await remove("clerk")).status).toBe(200);
    expect(await whoAnswers("clerk")).toBe("file");
  });

  test("are changed by their file only: who deletes one is told how to switch it off", async () => {
    const { status, json } = await remove("clerk");
    expect([status, json]).toMatchObject([
      404,
      { error: { code: "not_found", message: expect.stringContaining('{"disabled": true}') as unknown } },
    ]);
  });
});
