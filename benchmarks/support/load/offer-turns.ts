import pg from "pg";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The outcome of an offered turn. `lost`: let in, and not answered to its end. */
export type Offered = { kind: "done" | "refused"; ms: number } | { kind: "lost"; ms: number; reason: string };

const TAIL = 500;

async function offerTurn(url: string, user: string): Promise<Offered> {
  const began = performance.now();
  const since = (): number => performance.now() - began;
  try {
    const response = await fetch(`${url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user_id: user, session_id: "s", message: "Tell me everything you know." }),
    });
    if (response.status === 503) {
      const text = await response.text();
      if (!text.includes('"overloaded"')) throw new Error(text);
      if (response.headers.get("retry-after") === null) throw new Error("a refusal without Retry-After");
      return { kind: "refused", ms: since() };
    }
    let isDone = false;
    let tail = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const text = tail + decoder.decode(chunk as Uint8Array, { stream: true });
      isDone ||= text.includes('data: {"status":"done"');
      tail = text.slice(-TAIL);
    }
    return isDone ? { kind: "done", ms: since() } : { kind: "lost", ms: since(), reason: `${response.status} ${tail.slice(-300)}` };
  } catch (error) {
    return { kind: "lost", ms: since(), reason: String(error) };
  }
}

/** Offers so many turns at once, each of its own user, named from `prefix`. */
export function offerTurns(url: string, streams: number, prefix: string): Promise<Offered[]> {
  return Promise.all(Array.from({ length: streams }, (_, index) => offerTurn(url, `${prefix}-${index}`)));
}

const STORED = `
select count(*) filter (where role = 'user')::int as questions, count(*) filter (where role = 'assistant' and completed)::int as answers,
  (select count(*)::int from turns where starts_with(turns.user_id, $1) and ended_at is null) as "withoutEnd"
from messages join conversations on conversations.id = conversation_id where starts_with(user_id, $1)`;

export async function storedTurns(databaseUrl: string, prefix: string): Promise<Record<"questions" | "answers" | "withoutEnd", number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<Awaited<ReturnType<typeof storedTurns>>>(STORED, [`${prefix}-`]).finally(() => client.end());
  return rows[0]!;
}

interface Offer {
  url: string;
  streams: number;
  prefix: string;
}

export async function startClientProcess() {
  const child = fork(fileURLToPath(import.meta.url));
  await once(child, "message");
  return {
    async offerTurns(url: string, streams: number, prefix: string): Promise<Offered[]> {
      child.send({ url, streams, prefix } satisfies Offer);
      const [offered] = (await once(child, "message")) as [Offered[]];
      return offered;
    },
    stop: () => void child.kill(),
  };
}

if (import.meta.main && process.send) {
  const tell = process.send.bind(process);
  process.on("message", ({ url, streams, prefix }: Offer) => void offerTurns(url, streams, prefix).then((offered) => tell(offered)));
  tell("ready");
}
