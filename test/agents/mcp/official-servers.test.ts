import { describe, expect, test } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { list, open, opened, packaged, run } from "./open-mcp-servers.ts";

describe("the official servers", () => {
  test("server-everything lists and runs its tools, and the model reads an error for what it does not take", async () => {
    const servers = open({ everything: packaged("server-everything") });
    const { tools, names } = await list(servers);
    expect(names).toEqual(expect.arrayContaining(["mcp__everything__echo", "mcp__everything__get-sum"]));
    expect(await run(tools, "mcp__everything__echo", { message: "你好" })).toMatchObject({ ok: true, output: "Echo: 你好" });
    expect((await run(tools, "mcp__everything__get-sum", { a: 2, b: 3 })).output).toMatch(/\b5\b/);
    const wrong = await run(tools, "mcp__everything__get-sum", { a: "two" });
    expect(wrong).toMatchObject({ ok: false, output: expect.stringContaining("invalid_arguments") as unknown });
  });

  test("server-everything shows a picture beside the words, with a mark in its place", async () => {
    const { tools } = await list(open({ everything: packaged("server-everything") }, { answerMs: 50_000 }));
    const { output, pictures } = await run(tools, "mcp__everything__get-tiny-image");
    expect(output).toMatch(/^.+\n\[picture 图片\]\n.+$/);
    expect(pictures).toMatchObject([
      { url: expect.stringMatching(/^data:image\/png;base64,/) as unknown, file: { mediaType: "image/png" } },
    ]);
  });

  test("server-filesystem reads in its folder and nowhere else", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "mcp-files-"));
    opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
    await writeFile(path.join(folder, "note.txt"), "The ferry leaves at noon.");
    const { tools } = await list(open({ files: packaged("server-filesystem", folder) }));
    const read = (file: string) => run(tools, "mcp__files__read_text_file", { path: file });
    expect(await read(path.join(folder, "note.txt"))).toMatchObject({ ok: true, output: expect.stringContaining("noon") as unknown });
    expect(await read("/etc/passwd")).toMatchObject({ ok: false, output: expect.stringContaining("tool_failed") as unknown });
  });

  test("server-memory reads in the next call what one call has written", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "mcp-memory-"));
    opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
    const spec = { ...packaged("server-memory"), env: { MEMORY_FILE_PATH: path.join(folder, "memory.jsonl") } };
    const { tools } = await list(open({ graph: spec }));
    const entities = [{ name: "Ada", entityType: "person", observations: ["sails"] }];
    expect((await run(tools, "mcp__graph__create_entities", { entities })).ok).toBe(true);
    expect((await run(tools, "mcp__graph__read_graph")).output).toContain("sails");
  });
});
