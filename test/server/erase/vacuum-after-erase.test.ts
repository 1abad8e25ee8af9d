import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

const run = promisify(execFile);
/** Jobs end, one second without a request passes, and the tables are written anew, on a machine that may be busy. */
const IDLE_MS = 90_000;

/** Files under a folder with this text in them, in capitals or not. */
async function filesHolding(folder: string, text: string): Promise<string[]> {
  const { stdout } = await run("grep", ["-rlais", "--", text, folder]).catch((error: { code: number; stdout: string }) => {
    if (error.code === 1) return { stdout: "" }; // found nothing
    if (error.code === 2) return { stdout: "a file went while it was looked at" };
    throw error;
  });
  return stdout.split("\n").filter(Boolean);
}

describe("an embedded service that was told something and then to erase it", () => {
  let folder: string;
  let service: TestService;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-vacuum-"));
    service = await openTestService({ DATA_DIR: folder, ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true" });
  }, 120_000);
  afterEach(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function say(userId: string, message: string): Promise<TurnResult> {
    const said = await postJson<TurnResult>(`${service.url}/api/v1/chat`, { user_id: userId, session_id: "s", message });
    expect(said.status).toBe(200);
    const { json } = await postJson<{ settled: boolean }>(`${service.url}/api/v1/conversations/${said.json.conversation_id}/settle`, {});
    expect(json.settled).toBe(true);
    return said.json;
  }
  const erase = async (what: string): Promise<void> => {
    const { status } = await callApi(`${service.url}/api/v1/${what}`, { method: "DELETE" });
    expect(status).toBe(200);
  };
  const untilGone = (text: string): Promise<unknown> =>
    waitUntil(`${text} is in no file`, async () => (await filesHolding(folder, text)).length === 0, IDLE_MS);

  test("keeps nothing of an erased user in any file, and all of the others, who are found as before", async () => {
    await say("kept", "I live in Zwiebelkeptstadt and my cat is called Minka.");
    for (const town of ["Zwiebelgonestadt", "Zwiebelgonedorf", "Zwiebelgoneheim"]) await say("gone zwiebeluser", `I live in ${town}.`);
    expect(await filesHolding(folder, "Zwiebelgone")).not.toEqual([]);
    await erase("users/gone%20zwiebeluser");
    await untilGone("Zwiebelgone");
    await untilGone("zwiebeluser");
    expect(await filesHolding(folder, "Zwiebelkeptstadt")).not.toEqual([]);
    const found = await callApi<{ episodes: unknown[]; degraded: unknown[] }>(`${service.url}/api/v1/users/kept/episodes?query=Minka`);
    expect(found.json.degraded).toEqual([]);
    expect(found.json.episodes).toHaveLength(1);
  }, 240_000);

  test("keeps nothing of an erased exchange in any file, and the others of its conversation", async () => {
    await say("ada", "I live in Zwiebelkeptstadt.");
    const { receipt, conversation_id: id } = await say("ada", "My sister Zwiebelgonela plays the Zwiebelgoneflute.");
    expect(receipt).toBeDefined();
    const listed = await callApi<{ messages: { id: string; content: string }[] }>(`${service.url}/api/v1/conversations/${id}/messages`);
    const asked = listed.json.messages.find(({ content }) => content.includes("Zwiebelgonela"));
    await erase(`users/ada/episodes/${asked?.id ?? ""}`);
    await untilGone("Zwiebelgone");
    expect(await filesHolding(folder, "Zwiebelkeptstadt")).not.toEqual([]);
  }, 240_000);
});
