import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.ts";
import { NO_LIMITS } from "./service-process.ts";
import { waitUntil } from "../support/wait-until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

export type ThreadMessage = ThreadValues["messages"][number];

export interface ThreadValues {
  messages: { id: string; type: string; content: string }[];
  answer: string;
  conversationId: string;
  [field: string]: unknown;
}

type ThreadState = { values: ThreadValues; next: string[]; checkpoint: { checkpoint_id: string } };

export type Thread = Awaited<ReturnType<StudioProcess["createThread"]>>;

export type StudioProcess = Awaited<ReturnType<typeof startStudio>>;

/** Starts `npm run studio -- --port` on a free port, in a group of processes of its own, and waits until it answers. */
export async function startStudio(environment: Record<string, string> = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn("npm", ["run", "studio", "--", "--port", String(port)], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...NO_LIMITS, ...environment },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const exited = once(child, "exit");
  const group = child.pid ?? 0;

  const call = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(url + path, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
  async function json<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await call(method, path, body);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  }
  const stop = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    try {
      process.kill(-group, signal);
    } catch {
      return; // nobody of the group is left
    }
    if (child.exitCode === null && child.signalCode === null) await exited;
  };

  await waitUntil("Studio answers /ok", async () => (await fetch(`${url}/ok`).catch(() => undefined))?.ok === true).catch(
    async (error: unknown) => {
      await stop();
      throw new Error(`Studio did not start: ${printed.slice(-2000)}`, { cause: error });
    },
  );
  const [assistant] = await json<{ assistant_id: string }[]>("POST", "/assistants/search", {});
  return {
    url,
    assistantId: assistant?.assistant_id ?? "",
    call,
    async createThread() {
      const { thread_id: id } = await json<{ thread_id: string }>("POST", "/threads", {});
      return {
        id,
        /** Runs the graph and waits for its end. Throws what the run failed with. */
        async run(input: object | null, more: object = {}): Promise<ThreadValues> {
          const body = { assistant_id: "conversation", input, ...more };
          const values = await json<ThreadValues & { __error__?: { message: string } }>("POST", `/threads/${id}/runs/wait`, body);
          if (values.__error__) throw new Error(values.__error__.message);
          return values;
        },
        state: () => json<ThreadState>("GET", `/threads/${id}/state`),
        history: (limit = 10) => json<ThreadState[]>("POST", `/threads/${id}/history`, { limit }),
      };
    },
    memory(): number {
      const lines = execFileSync("ps", ["-A", "-o", "pgid=,rss="], { encoding: "utf8" }).trim().split("\n");
      const ofGroup = lines.map((line) => line.trim().split(/\s+/).map(Number)).filter(([pgid]) => pgid === group);
      return ofGroup.reduce((sum, [, kilobytes = 0]) => sum + kilobytes, 0) / 1024;
    },
    output: (): string => printed,
    stop,
  };
}
