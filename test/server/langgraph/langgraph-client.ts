import { Client } from "@langchain/langgraph-sdk";

/** The official client at this service, without retries of its own. */
export const langGraphClient = (url: string, headers: Record<string, string> = {}): Client =>
  new Client({ apiUrl: `${url}/langgraph`, apiKey: null, defaultHeaders: headers, callerOptions: { maxRetries: 0 } });

export interface SentFrame {
  id?: string | undefined;
  event: string;
  data: unknown;
}

export async function framesOf(stream: AsyncIterable<SentFrame>): Promise<SentFrame[]> {
  const frames: SentFrame[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

export const human = (content: string) => ({ messages: [{ type: "human", content }] });

export interface StateValues {
  messages: { id: string; type: string; content: string }[];
  summary: { version: number } | null;
  core_memory: { section: string; content: string }[];
  route_decision: { worker_name: string } | null;
  usage: { total_tokens: number } | null;
  receipt: object | null;
  __interrupt__?: { id: string; value: { type: string; question: string } }[];
}

/** The last values of a stream. */
export const lastOf = (frames: readonly SentFrame[]): StateValues =>
  frames.findLast(({ event }) => event === "values")?.data as StateValues;

/** The text of the chunks of messages. */
export const textOf = (frames: readonly SentFrame[]): string =>
  frames
    .filter(({ event }) => event === "messages")
    .map(({ data }) => (data as [{ content: string }])[0].content)
    .join("");

export const statusesOf = (runs: readonly { status: string }[]): string[] => runs.map(({ status }) => status);

/** What a call fails with: its status and its words. */
export async function refusalOf(call: Promise<unknown>): Promise<{ status: number | undefined; message: string }> {
  const thrown: unknown = await call.then(
    () => new Error("nothing was refused"),
    (error: unknown) => error,
  );
  const { status, message } = thrown as { status?: number; message: string };
  return { status, message };
}
