import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openTestService, type TestService } from "../support/services/service.ts";

const CHAT = fileURLToPath(new URL("../../scripts/chat.ts", import.meta.url));

/** Runs the terminal client with these lines as its input; what it printed. */
async function chat(url: string, lines: string): Promise<string> {
  const child = spawn(process.execPath, [CHAT, "--url", url, "--user", "ada"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(lines);
  const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
  expect(child.exitCode).toBe(0);
  return printed;
}

describe("npm run chat", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });
  afterAll(() => service.close());

  test("answers each line in one conversation, and every line of a pipe", async () => {
    const printed = await chat(service.url, "My name is Ada and I live in Lisbon.\nWhere do I live?\n我住在哪里？\n");
    expect(printed).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
    expect(printed).toContain("我是离线模型");
    const { json } = await service.get("/api/v1/conversations?user_id=ada");
    expect(json).toMatchObject({ conversations: [{ message_count: 6 }] });
  });

  test("shows a refusal with its code", async () => {
    expect(await chat(service.url, `${"x".repeat(40_000)}\n`)).toContain("[message_too_long: message: has 40000 characters");
  });

  test("says how to start the service when there is none", async () => {
    expect(await chat("http://127.0.0.1:9", "hello\n")).toContain("Start the service with npm start");
  });
});
