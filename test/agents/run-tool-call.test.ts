import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { runToolCall } from "../../agents/run-tool-call.ts";
import { fromLangChainTool, type ToolTurn } from "../../agents/tool.ts";
import { AppError } from "../../errors/app-error.ts";
import { useTestEmbedded } from "../support/databases/databases.ts";

describe("a call of a tool that throws", () => {
  const database = useTestEmbedded();

  async function callThrowing(work: () => Promise<unknown>) {
    const broken: AppError[] = [];
    const throwing = fromLangChainTool(tool(work, { name: "save", description: "Saves.", schema: z.object({}) }));
    const { signal } = new AbortController();
    const { ok, output } = await runToolCall(
      { id: "call", name: "save", arguments: "{}" },
      {
        ...{ tools: [throwing], permissionOf: () => "allow", turn: {} as ToolTurn, hooks: {}, timeoutMs: 10_000, signal },
        onBroken: (error) => broken.push(error),
      },
    );
    return { ok, told: JSON.parse(output) as { error: string; message: string }, broken };
  }

  test.each<[string, (fail: () => Promise<unknown>) => Promise<unknown>]>([
    ["as it is", (fail) => fail()],
    ["as the cause of another", (fail) => fail().catch((cause: unknown) => Promise.reject(new Error("refused: secret_column", { cause })))],
  ])("shows the model nothing of an error of a statement, %s, and the operator everything", async (_how, within) => {
    const { ok, told, broken } = await callThrowing(() =>
      within(() => database.query({ text: "select secret_column from conversations" })),
    );
    expect([ok, told.error]).toEqual([false, "internal_error"]);
    expect(told.message).not.toContain("secret_column");
    expect(broken).toMatchObject([{ code: "internal_error", cause: { message: expect.stringContaining("secret_column") } }]);
  });

  test("shows the model an error of its own in its own words", async () => {
    const own = await callThrowing(() => Promise.reject(new Error("The shelf is full.")));
    expect(own).toMatchObject({ ok: false, told: { error: "tool_failed", message: "The shelf is full." }, broken: [] });
    const coded = await callThrowing(() => Promise.reject(new AppError("storage_unavailable", "The database is away.")));
    expect(coded).toMatchObject({ told: { error: "storage_unavailable", message: "The database is away." }, broken: [] });
    const circular: Error = new Error("Round and round.");
    circular.cause = circular;
    expect(await callThrowing(() => Promise.reject(circular))).toMatchObject({ told: { message: "Round and round." }, broken: [] });
  });
});
