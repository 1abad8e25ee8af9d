export type ReadMetrics = Awaited<ReturnType<typeof readMetrics>>;

/** Asks a service for its metrics; throws when it does not answer with them. */
export async function readMetrics(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/metrics`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET /metrics answered ${response.status}: ${text.slice(0, 200)}`);
  const lines = text.split("\n").filter((line) => line !== "");
  const samples = lines
    .filter((line) => !line.startsWith("#"))
    .map((line): [string, number] => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]);
  return {
    contentType: response.headers.get("content-type"),
    text,
    families: new Set(lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? [])),
    samples: new Map(samples),
  };
}
