import type { ErrorCode } from "../../../errors/error-codes.ts";
import type { JobKind } from "../../../stores/jobs/job.ts";
import type { TcpProxy } from "../../servers/tcp-proxy.ts";

export const DEPENDENCIES = ["postgres", "milvus", "chat_model", "embedder", "summary_model", "memory_model"] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

export const FAULTS = ["down at start", "refuses", "hangs", "resets in mid-call", "slow by 2 s", "wrong answers", "back again"] as const;
export type Fault = (typeof FAULTS)[number];

export interface Cell {
  /** `done`, the code of its error, or `no start`: the service itself refuses to start. */
  turn: "done" | "no start" | ErrorCode;
  degraded?: readonly ("summary" | "core_memory" | "episodic")[];
  /** The turn ends within so many milliseconds, on a machine that is busy with other things too. */
  within: number;
  /** What /readyz says is down. Without Postgres it is 503, else 200. */
  down?: "postgres" | "chat_model" | "embedder" | "episode_index" | undefined;
  waits?: readonly JobKind[];
  ways?: Readonly<Record<string, Partial<Omit<Cell, "ways">>>>;
}

const DONE = { turn: "done", within: 8_000 } as const;
const NO_EPISODES = { turn: "done", degraded: ["episodic"], within: 8_000, waits: ["index_episodes"] } as const;
const NO_INDEX = { ...NO_EPISODES, down: "episode_index" } as const;
const NO_EMBEDDER = { ...NO_EPISODES, down: "embedder" } as const;
const NO_SUMMARY = { ...DONE, waits: ["summarise"] } as const;
const NO_AGENT = { ...DONE, waits: ["remember"] } as const;
const NO_DATABASE = { turn: "storage_unavailable", within: 8_000, down: "postgres" } as const;
const NO_ANSWER = { turn: "model_unavailable", within: 8_000, down: "chat_model" } as const;

type Row = Readonly<Record<Fault, Readonly<Cell>>>;

/** What happens in most faults, and what in the others; brought back again, all is well. */
const row = (inMost: Cell, others: Partial<Row>): Row => ({
  "down at start": inMost,
  refuses: inMost,
  hangs: inMost,
  "resets in mid-call": inMost,
  "slow by 2 s": inMost,
  "wrong answers": inMost,
  "back again": DONE,
  ...others,
});

export const MATRIX: Readonly<Record<Dependency, Row>> = {
  postgres: row(NO_DATABASE, {
    "down at start": { turn: "no start", within: 30_000 },
    hangs: { ...NO_DATABASE, within: 30_000 },
    "slow by 2 s": { turn: "done", degraded: ["core_memory", "episodic"], within: 60_000, down: "postgres" },
  }),
  milvus: row(NO_INDEX, { "slow by 2 s": { ...NO_INDEX, waits: [] } }),
  chat_model: row(NO_ANSWER, {
    hangs: { ...NO_ANSWER, turn: "model_first_token_timeout", within: 10_000 },
    "resets in mid-call": { ...NO_ANSWER, turn: "model_interrupted", down: undefined },
    "slow by 2 s": { ...DONE, down: "chat_model" },
    "wrong answers": { ...NO_ANSWER, ways: { "JSON of another shape": { turn: "model_incomplete", down: undefined } } },
  }),
  embedder: row(NO_EMBEDDER, {
    "resets in mid-call": NO_EPISODES,
    "slow by 2 s": { ...NO_EMBEDDER, waits: [] },
    "wrong answers": { ...NO_EMBEDDER, ways: { "JSON of another shape": { down: undefined } } },
  }),
  summary_model: row(NO_SUMMARY, { "slow by 2 s": DONE }),
  memory_model: row(NO_AGENT, { "slow by 2 s": DONE }),
};

const CUT_AFTER: Readonly<Record<Dependency, number>> = {
  postgres: 20,
  milvus: 40,
  chat_model: 1_000,
  embedder: 250,
  summary_model: 600,
  memory_model: 600,
};

export const WAYS: Readonly<Record<Fault, Readonly<Record<string, (proxy: TcpProxy, dependency: Dependency) => Promise<void> | void>>>> = {
  "down at start": { "": (proxy) => proxy.refuse() },
  refuses: { "": (proxy) => proxy.refuse() },
  hangs: { "": (proxy) => proxy.freeze() },
  "resets in mid-call": { "": (proxy, dependency) => proxy.resetAfter(CUT_AFTER[dependency]) },
  // More than /readyz waits.
  "slow by 2 s": { "": (proxy) => proxy.delayReplies(2_200) },
  "wrong answers": {
    "status 500": (proxy) => proxy.answerWith(httpAnswer("500 Internal Server Error", '{"error":{"message":"secret words"}}')),
    "JSON of another shape": (proxy) => proxy.answerWith(httpAnswer("200 OK", '{"unexpected":["secret words"]}')),
    "no known protocol": (proxy) => proxy.answerWith("T\0\0\0\x06\0\x09secret words\0\0\0\0"),
  },
  "back again": {
    "": async (proxy) => {
      for (let time = 0; time < 3; time++) {
        await proxy.refuse();
        await proxy.restore();
      }
    },
  },
};

function httpAnswer(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}
