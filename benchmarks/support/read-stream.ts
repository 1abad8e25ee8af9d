/** When the parts of one streamed answer arrived, in milliseconds since the request. */
export interface StreamTimes {
  firstTokenMs: number;
  totalMs: number;
}

/** A whole streamed answer, with the data of its last event. */
export interface ReadStream extends StreamTimes {
  last: string;
}

/** Posts JSON and reads the streamed answer; the first token is the chunk with the model's first word. */
export async function readStream(url: string, body: unknown): Promise<ReadStream> {
  const began = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench" },
    body: JSON.stringify(body),
  });
  let firstTokenMs = Number.NaN;
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString("latin1");
    if (Number.isNaN(firstTokenMs) && text.includes("word0 ")) firstTokenMs = performance.now() - began;
  }
  const totalMs = performance.now() - began;
  const last = text.slice(text.lastIndexOf("data: ") + "data: ".length).trimEnd();
  if (!response.ok || !(last.startsWith('{"status":"done"') || last === "[DONE]"))
    throw new Error(`status ${response.status}, the answer is not whole: ${text.slice(-300)}`);
  return { firstTokenMs, totalMs, last };
}
