import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { callApi, listMessages } from "../../support/clients/api-client.ts";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";
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
  // No model is asked: the offline one answers.
  const running = useOpened(() => openServiceWithEpisodes({ OPENAI_BASE_URL: "", ENABLE_CORE_MEMORY: "true" }), 120_000);
  const say = async (userId: string, message: string): Promise<string> => {
    const { conversation_id: id } = await running.say(userId, message);
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    return id;
  };
  const erase = async (what: string): Promise<void> => {
    expect((await callApi(`${running.url}/api/v1/${what}`, { method: "DELETE" })).status).toBe(200);
  };
  const untilGone = (text: string): Promise<unknown> =>
    waitUntil(`${text} is in no file`, async () => (await filesHolding(running.folder, text)).length === 0, IDLE_MS);

  test("keeps nothing of an erased user in any file, and all of the others, who are found as before", async () => {
    await say("kept", "I live in Zwiebelkeptstadt and my cat is called Minka.");
    for (const town of ["Zwiebelgonestadt", "Zwiebelgonedorf", "Zwiebelgoneheim"]) await say("gone zwiebeluser", `I live in ${town}.`);
    expect(await filesHolding(running.folder, "Zwiebelgone")).not.toEqual([]);
    await erase("users/gone%20zwiebeluser");
    await untilGone("Zwiebelgone");
    await untilGone("zwiebeluser");
    expect(await filesHolding(running.folder, "Zwiebelkeptstadt")).not.toEqual([]);
    const { json } = await running.episodes("kept", { query: "Minka" });
    expect({ found: json.episodes.length, degraded: json.degraded }).toEqual({ found: 1, degraded: [] });
  });

  test("keeps nothing of an erased exchange in any file, and the others of its conversation", async () => {
    await say("ada", "I live in Zwiebelkeptstadt.");
    const id = await say("ada", "My sister Zwiebelgonela plays the Zwiebelgoneflute.");
    const asked = (await listMessages(running.url, id)).find(({ content }) => content.includes("Zwiebelgonela"));
    await erase(`users/ada/episodes/${asked?.id ?? ""}`);
    await untilGone("Zwiebelgone");
    expect(await filesHolding(running.folder, "Zwiebelkeptstadt")).not.toEqual([]);
  });
});
