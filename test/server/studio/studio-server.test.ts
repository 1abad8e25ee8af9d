import { HumanMessage } from "@langchain/core/messages";
import { Overwrite, ReducedValue } from "@langchain/langgraph";
import { describe, expect, test, afterAll, beforeAll } from "@jest/globals";
import { ConversationState } from "../../../turn/state.ts";
import { toTurnInput, type StudioThread } from "../../../server/langgraph/studio-input.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { startStudio, type StudioProcess, type Thread, type ThreadMessage } from "../../servers/studio-process.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createDataFolder } from "../../servers/data-folder.ts";

const thread: StudioThread = { id: "thread-1", earlier: {} };
const turn = (input: object, of = thread) => toTurnInput(input, of, 100);
const human = (content: unknown) => ({ type: "human", content });
describe("a run in Studio becomes a turn", () => {
  test('of the user "studio" in the session of its thread when it has only a message', () => {
    const messages = [human("Hello!")];
    expect(turn({ messages })).toMatchObject({ userId: "studio", sessionId: "thread-1", message: "Hello!" });
    expect(turn({ message: "Hello!" })).toMatchObject({ userId: "studio", sessionId: "thread-1", message: "Hello!" });
  });

  test("of the user that it names, or that an earlier run of its thread has named", () => {
    const message = "Hello!";
    const earlier = { userId: "ada", sessionId: "s1" };
    expect(turn({ message, ...earlier, tenantId: "acme" })).toMatchObject({ ...earlier, tenantId: "acme" });
    expect(turn({ message }, { id: "thread-1", earlier })).toMatchObject(earlier);
  });

  test("with its own instructions, which later runs do not have", () => {
    expect(turn({ message: "Hello!", instructions: "Rhyme." }).instructions).toBe("Rhyme.");
    expect(turn({ message: "Hello!" }).instructions).toBe("");
    expect(turn({ message: "Hello!", kbInstructions: "forged" })).toMatchObject({ kbInstructions: "" });
  });

  test.each([
    ["a list whose last human message counts", [human("first"), { type: "ai", content: "answer" }, human("last")], "last"],
    ["parts of text", [human(["one ", "two"].map((text) => ({ type: "text", text })))], "one two"],
    ["messages as OpenAI writes them", [{ role: "user", content: "Hello!" }], "Hello!"],
    ["a single message", human("Hello!"), "Hello!"],
    ["a message of LangChain", [new HumanMessage("Hello!")], "Hello!"],
  ])("with the message from %s", (_name, messages, message) => {
    const input = turn({ messages });
    expect(input.message).toBe(message);
    expect(input.messages).toHaveLength(1);
  });

  test("that starts with empty lists, and ignores its input for fields that only nodes write", () => {
    const input = turn({ message: "Hello!", answer: "forged", recentMessages: ["forged"], error: "forged", degraded: ["episodic"] });
    expect(input).toMatchObject({ answer: "", recentMessages: [], error: null, usage: null, receipt: null });
    const added = Object.entries(ConversationState.fields).filter(([name, field]) => ReducedValue.isInstance(field) && name !== "messages");
    expect(added.map(([name]) => name)).toHaveLength(3);
    for (const [name] of added) expect((input as Record<string, unknown>)[name]).toBeInstanceOf(Overwrite);
  });

  test.each([
    ["no message", {}, "message: is missing"],
    ["empty fields of the form", { message: "", messages: [], userId: "" }, "message: is missing"],
    ["a blank message", { messages: [human("  ")] }, "message: is blank"],
    ["no human message", { messages: [{ type: "ai", content: "Hello!" }] }, "message: is missing"],
    ["an image", { messages: [human([{ type: "image_url", image_url: "x" }])] }, 'messages: holds a part of the type "image_url"'],
    ["a list of something else than messages", { messages: [42] }, "messages: holds something that is no message"],
    ["a message that is too long", { message: "a".repeat(101) }, "has 101 characters, at most 100 are taken"],
    ["a user id that is too long", { message: "Hello!", userId: "a".repeat(201) }, "userId: must have 1 to 200 characters"],
    ["instructions that are too long", { message: "Hello!", instructions: "a".repeat(20_001) }, "instructions: has more than 20000"],
    ["an unknown agent", { message: "Hello!", agentType: "robot" }, "agentType: must be one of"],
  ])("only when its input is valid, and fails for %s", (_name, input, problem) => expect(() => turn(input)).toThrow(problem));
});

const TIMES = 20;
/** What Studio does around a message: it runs the graph, then looks at the state and the history, and draws the graph. */
async function sayAsStudio(studio: StudioProcess, thread: Thread, content: string): Promise<string> {
  const { messages } = await thread.run({ messages: [{ type: "human", content }] });
  const [state, history, picture] = await Promise.all([
    thread.state(),
    thread.history(5),
    studio.call("GET", `/assistants/${studio.assistantId}/graph`),
  ]);
  expect(picture.status).toBe(200);
  expect(state.values.messages).toEqual(messages);
  expect(history[0]?.values.messages).toEqual(messages);
  return messages.at(-1)?.content ?? "";
}
describe("a thread in Studio", () => {
  const database = useTestPostgres();
  let studio: StudioProcess;
  beforeAll(async () => {
    studio = await startStudio({ DATABASE_URL: database.url, ENABLE_EPISODIC_MEMORY: "false" });
  });
  afterAll(() => studio.stop());

  const countConnections = async (): Promise<number> => {
    const text = "select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    return (await database.query<{ n: number }>({ text }))[0]?.n ?? 0;
  };

  test("remembers what was said over twenty turns, without more connections or memory", async () => {
    const thread = await studio.createThread();
    await sayAsStudio(studio, thread, "My boat is called Calypso.");
    expect(await sayAsStudio(studio, thread, "What is my boat called?")).toContain("Calypso");
    const connections = await countConnections();
    const megabytes = studio.memory();
    for (let turn = 3; turn <= TIMES; turn++) await sayAsStudio(studio, thread, `Message ${turn}`);
    expect(await sayAsStudio(studio, thread, "What is my boat called?")).toContain("Calypso");
    const { messages } = (await thread.state()).values;
    expect(messages).toHaveLength(2 * (TIMES + 1));
    const stored = await database.query<ThreadMessage>({
      text: "select id, case role when 'user' then 'human' else 'ai' end as type, content from messages order by created_at, id",
    });
    expect(messages.map(({ id, type, content }) => ({ id, type, content }))).toEqual(stored);
    // A pool of ten, and those that listen for jobs and turns.
    expect(await countConnections()).toBeLessThanOrEqual(Math.max(connections, 13));
    expect(studio.memory()).toBeLessThan(megabytes + 200);
  });
});

/** In the control file of Postgres, behind the identifier of the system and two versions: 1 is "shut down", 6 is "in production". */
async function stateOfCluster(folder: string): Promise<number> {
  return (await readFile(path.join(folder, "postgres/global/pg_control"))).readUInt32LE(16);
}
test("studio.ts opens one store in a process even when it is loaded again, gives each request its own checkpointer, and closes on SIGTERM", async () => {
  const { folder, remove } = await createDataFolder();
  const script = fileURLToPath(new URL("./studio-module.ts", import.meta.url));
  const child = spawn(process.execPath, [script], {
    cwd: "/",
    env: { PATH: process.env["PATH"], DATA_DIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const exited = once(child, "exit");
    const [line] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    const seen = JSON.parse(String(line)) as { kept: number; answer: string };
    expect(seen.kept).toBe(2);
    expect(seen.answer).toContain("Calypso");
    expect(await stateOfCluster(folder)).toBe(6);
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
    expect(await stateOfCluster(folder)).toBe(1);
  } finally {
    child.kill("SIGKILL");
    await remove();
  }
});
