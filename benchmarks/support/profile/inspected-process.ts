import type { Profiler } from "node:inspector";

/** V8's sampling profiler of another process, over the protocol of its inspector. */
export interface RemoteProfiler {
  start(intervalMicroseconds: number): Promise<void>;
  stop(): Promise<Profiler.Profile>;
  close(): void;
}

interface Answer {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/** Connects to a process that was started with `--inspect=127.0.0.1:PORT`. */
export async function connectProfiler(port: number): Promise<RemoteProfiler> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error(`there is nothing to inspect on port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`the inspector on port ${port} refused the connection`));
  });
  let nextId = 0;
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  socket.onmessage = ({ data }) => {
    const { id = -1, result, error } = JSON.parse(String(data)) as Answer;
    if (error) waiting.get(id)?.reject(new Error(`the inspector answered: ${error.message}`));
    else waiting.get(id)?.resolve(result);
    waiting.delete(id);
  };
  socket.onclose = () => {
    for (const { reject } of waiting.values()) reject(new Error("the process that is profiled closed its inspector"));
  };
  function send(method: string, params: object = {}): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(++nextId, answer);
    socket.send(JSON.stringify({ id: nextId, method, params }));
    return answer.promise;
  }
  return {
    async start(interval) {
      await send("Profiler.enable");
      await send("Profiler.setSamplingInterval", { interval });
      await send("Profiler.start");
    },
    stop: async () => ((await send("Profiler.stop")) as { profile: Profiler.Profile }).profile,
    close: () => socket.close(),
  };
}
