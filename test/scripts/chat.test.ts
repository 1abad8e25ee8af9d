import { describe, expect, test } from "@jest/globals";
import { runScript } from "../support/run-script.ts";
import { useTestService } from "../support/services/service.ts";

describe("npm run chat", () => {
  const service = useTestService();

  const chat = async (lines: string, url = service.url): Promise<string> => {
    const { code, stdout } = await runScript("chat", ["--url", url, "--user", "ada"], {}, lines);
    expect(code).toBe(0);
    return stdout;
  };

  test("answers each line in one conversation, and every line of a pipe", async () => {
    const printed = await chat("My name is Ada and I live in Lisbon.\nWhere do I live?\n我住在哪里？\n");
    expect(printed).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
    expect(printed).toContain("我是离线模型");
    const { json } = await service.get("/api/v1/conversations?user_id=ada");
    expect(json).toMatchObject({ conversations: [{ message_count: 6 }] });
  });

  test("shows a refusal with its code, and says how to start the service when there is none", async () => {
    expect(await chat(`${"x".repeat(40_000)}\n`)).toContain("[message_too_long: message: has 40000 characters");
    expect(await chat("hello\n", "http://127.0.0.1:9")).toContain("Start the service with npm start");
  });
});
