import { readFileSync } from "node:fs";

export const FEATURES = ["whole", "streamed", "tools", "JSON"] as const;
export type Feature = (typeof FEATURES)[number];
/** What a client may be tried for: its features by Completions, then those by Responses. */
export const COLUMNS = (["completions", "responses"] as const).flatMap((api) => FEATURES.map((feature) => `${api}, ${feature}`));

/** What docs/front-ends.md says of this client: the columns with a yes. */
export function columnsInDocs(client: string): string[] {
  const page = readFileSync(new URL("../../../../docs/front-ends.md", import.meta.url), "utf8");
  const row = page.split("\n").find((line) => line.startsWith("|") && line.includes(client));
  const cells = row?.split("|").slice(2, -1) ?? [];
  return COLUMNS.filter((_, index) => cells[index]?.trim() === "yes");
}
