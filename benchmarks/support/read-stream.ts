/** When the parts of one streamed answer arrived, in milliseconds since the request. */
export interface StreamTimes {
  firstTokenMs: number;
  totalMs: number;
}

/** Posts JSON and reads the streamed answer; the first token is the first chunk that holds the model's first word. */
export async function readStream(url: string, body: unknown): Promise<StreamTimes> {
  const began = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench" },
    body: JSON.stringify(body),
  });
  let firstTokenMs = Number.NaN;
  let last = "";
  for await (const chunk of response.body ?? []) {
    last = Buffer.from(chunk as Uint8Array).toString("latin1");
    if (Number.isNaN(firstTokenMs) && last.includes("word0 ")) firstTokenMs = performance.now() - began;
  }
  if (!response.ok || !(last.includes('"status":"done"') || last.includes("[DONE]")))
    throw new Error(`status ${response.status}, the answer is not whole: ${last.slice(-300)}`);
  return { firstTokenMs, totalMs: performance.now() - began };
}
