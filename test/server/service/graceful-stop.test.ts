import { afterEach, describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { beginTurn, contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { openTestService } from "../../support/services/service.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const READ = "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n";

describe("a service that is told to stop", () => {
  const database = useTestPostgres();
  const model = useOpened(() => startModelServer());
  const watcher = useOpened(() => openTestService({ DATABASE_URL: database.url }));
  afterEach(killServiceProcesses);

  const start = (environment: Record<string, string> = {}): Promise<ServiceProcess> =>
    startServiceProcess({ DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ...environment });
  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const stored = async (sessionId: string) =>
    (await messagesOf(watcher.url, "ada", sessionId)).map(({ content, completed }) => ({ content, completed }));

  test.each(["SIGTERM", "SIGINT"] as const)("by %s finishes its running turns, takes no new one, and exits with 0", async (signal) => {
    model.answer({ tokens: Array.from({ length: 30 }, () => "word "), betweenMs: 100 });
    const service = await start();
    const early = await connectTo(service.url);
    early.socket.write(READ);
    await early.until('"status":"ready"');
    const { events } = await postTurn(service.url, ask(signal), {
      onEvent(_event, sofar) {
        if (sofar.length !== 3) return;
        service.kill(signal);
        void (async () => {
          await waitUntil("the service stopping", () => service.output().includes("stopping"));
          early.socket.write(READ);
          await early.until('"status":"stopping"');
          early.socket.write(postBytes("/api/v1/chat/stream", ask("too late")));
          await early.until("shutting_down");
          early.socket.write(postBytes("/api/v1/chat", ask(signal, { on_busy: "enqueue" })));
        })();
      },
    });
    expect(contentOf(events, "done")).toMatchObject({ answer: "word ".repeat(30), completed: true });
    expect(await service.exited).toBe(0);
    const refusals = early.received().split("HTTP/1.1 503 Service Unavailable\r\n").slice(1);
    expect(refusals).toHaveLength(3);
    expect(refusals[1]).toMatch(/retry-after: 1\r\n/);
    const error = { code: "shutting_down", message: "The service is stopping. Send the message again in a few seconds." };
    for (const refusal of refusals.slice(1)) expect(refusal).toContain(JSON.stringify({ error }));
    expect(service.output()).toContain("stopped");
    expect((await stored(signal))[1]).toEqual({ content: "word ".repeat(30), completed: true });
    expect(await stored("too late")).toEqual([]);
  });

  test("cancels its turns after SHUTDOWN_GRACE_MS, keeps the half answers, and exits with 0", async () => {
    model.answer({ tokens: Array.from({ length: 400 }, (_, index) => `word${index} `), betweenMs: 50 });
    const before = model.seen.length;
    const service = await start({ SHUTDOWN_GRACE_MS: "500" });
    const turns = await Promise.all(
      ["cancelled", "cancelled too"].map((session, index) =>
        postTurn(service.url, ask(session), {
          onEvent: (_event, sofar) => void (index === 0 && sofar.length === 5 && service.kill("SIGTERM")),
        }),
      ),
    );
    expect(await service.exited).toBe(0);
    for (const [index, { events }] of turns.entries()) {
      expect(contentOf(events, "error")).toMatchObject({ code: "shutting_down", retryable: true });
      expect(events.at(-1)?.data.status).toBe("error");
      const [, answer] = await stored(index === 0 ? "cancelled" : "cancelled too");
      expect(answer).toEqual({ content: tokenText(events), completed: false });
      expect(answer?.content).toMatch(/^word0 word1 /);
    }
    await waitUntil("the model's connections closed", () => model.seen.slice(before).every(({ aborted }) => aborted));
  });

  test("does not wait for idle connections, requests that never end, or readers that have stopped", async () => {
    // Control characters take six bytes in JSON: more than the system keeps for a connection that nobody reads.
    model.answer({ tokens: Array.from({ length: 950 }, () => "\u0001".repeat(1_000)) });
    const service = await start();
    const stopped = await connectTo(service.url);
    stopped.socket.once("data", () => stopped.socket.pause());
    stopped.socket.write(postBytes("/api/v1/chat/stream", ask("stopped reading")));
    await waitUntil("the stored turn", async () => (await messagesOf(service.url, "ada", "stopped reading")).length === 2);
    stopped.socket.destroy();
    const idle = await connectTo(service.url);
    idle.socket.write(READ);
    await idle.until('"status":"ready"');
    const unfinished = await connectTo(service.url);
    unfinished.socket.write(
      "POST /api/v1/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
    );
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    await Promise.all([idle.closed, unfinished.closed]);
  });

  test("ends at once with 1 when it is told twice", async () => {
    model.answer({ tokens: ["one"], ending: "hang" });
    const service = await start({ SHUTDOWN_GRACE_MS: "60000" });
    const turn = await beginTurn(service.url, ask("told twice"));
    service.kill("SIGTERM");
    await waitUntil("the service stopping", () => service.output().includes("stopping"));
    const again = setInterval(() => service.kill("SIGTERM"), 100);
    const [code] = await Promise.allSettled([service.exited, turn.ended]);
    expect(code).toEqual({ status: "fulfilled", value: 1 });
    clearInterval(again);
  });

  test("takes two signals at the same time for one, as Ctrl-C under npm sends them", async () => {
    model.answer({ tokens: ["one", "two", "three"], betweenMs: 300 });
    const service = await start();
    const { events } = await postTurn(service.url, ask("told once"), {
      onEvent: (_event, sofar) => {
        if (sofar.length !== 2) return;
        service.kill("SIGINT");
        service.kill("SIGTERM");
      },
    });
    expect(contentOf(events, "done")).toMatchObject({ answer: "onetwothree", completed: true });
    expect(await service.exited).toBe(0);
  });
});
