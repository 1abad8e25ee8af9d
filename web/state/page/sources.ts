import type { Receipt, RouteDecision } from "../../api/types.ts";
import { CITED } from "../../markdown/link-citations.ts";

/** A passage that an answer may cite by its number. */
export interface Source {
  number: number;
  passageId: string;
  title: string;
  heading: string;
  /** Its knowledge base. */
  prefix: string;
}

interface Citation {
  number: number;
  passage_id: string;
  title: string;
  heading: string;
}

/** An imported message may have any metadata. */
function isCitation(value: unknown): value is Citation {
  const { number, passage_id: id, title, heading } = (value ?? {}) as Partial<Record<keyof Citation, unknown>>;
  return typeof number === "number" && typeof id === "string" && typeof title === "string" && typeof heading === "string";
}

const toSource =
  (prefix: string) =>
  ({ number, passage_id: passageId, title, heading }: Citation): Source => ({ number, passageId, title, heading, prefix });

/** The citations in a stored answer's metadata. */
export function sourcesIn(metadata: Record<string, unknown>): Source[] {
  const { kb_prefix: prefix } = (metadata["route"] ?? {}) as Partial<RouteDecision>;
  const citations = metadata["citations"];
  return typeof prefix === "string" && Array.isArray(citations) ? citations.filter(isCitation).map(toSource(prefix)) : [];
}

/** The answer's sources, numbered as in its prompt. */
export function sourcesOf(receipt: Receipt | undefined, route: RouteDecision | null): Source[] {
  if (!receipt || !route) return [];
  const cite = toSource(route.kb_prefix);
  return receipt.passages.map(({ id, title, heading }, index) => cite({ number: index + 1, passage_id: id, title, heading }));
}

export const nameOf = ({ title, heading }: Pick<Source, "title" | "heading">): string => (heading === "" ? title : `${title} > ${heading}`);

/** The sources that a text cites, or all: it may rest on any. */
export function citedSources(text: string, sources: readonly Source[]): readonly Source[] {
  const numbers = new Set([...text.matchAll(CITED)].flatMap(([, list = ""]) => list.match(/\d+/g) ?? []).map(Number));
  const found = sources.filter(({ number }) => numbers.has(number));
  return found.length > 0 ? found : sources;
}

/** An answer for the clipboard. */
export function withSources(text: string, sources: readonly Source[], title: string): string {
  if (sources.length === 0) return text;
  return `${text.trimEnd()}\n\n${title}:\n${sources.map((source) => `[${source.number}] ${nameOf(source)}`).join("\n")}\n`;
}
