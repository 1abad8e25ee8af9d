import { HEADING_SEPARATOR } from "../../../memory/parsing/document.ts";
import { readMarkdown } from "../../../memory/parsing/read-markdown.ts";
import type { CorpusDocument } from "./read-corpus.ts";
import type { KnowledgeQuestion } from "./questions.ts";

export interface StoredChunk {
  id: string;
  title: string;
  heading: string;
  text: string;
}

/** The whole path of a question's heading. Throws when the document or the heading is not there, or there is more than one. */
function pathOfHeading({ text, document, heading }: KnowledgeQuestion, documents: Map<string, CorpusDocument>): string {
  const found = documents.get(document);
  if (!found) throw new Error(`"${text}" asks about the README of ${document}, which is not installed or not in the corpus. Run npm ci.`);
  const parts = readMarkdown(found.bytes.toString("utf8").replaceAll(/\r\n?/g, "\n"));
  const paths = parts.map((part) => part.heading).filter((path) => path === heading || path.endsWith(`${HEADING_SEPARATOR}${heading}`));
  const [path] = paths;
  if (path === undefined || paths.length > 1)
    throw new Error(`"${text}" asks about the heading "${heading}", of which ${document}'s README has ${paths.length}.`);
  return path;
}

function isOfSection({ heading, text }: StoredChunk, path: string): boolean {
  if (heading === path) return true;
  const at = path.lastIndexOf(HEADING_SEPARATOR);
  const [parent, own] = at < 0 ? ["", path] : [path.slice(0, at), path.slice(at + HEADING_SEPARATOR.length)];
  return heading === parent && `\n\n${text}`.includes(`\n\n${own}\n\n`);
}

/** The chunks of the section that answers a question, for each question. Throws when there is none. */
export function goldChunks(
  questions: readonly KnowledgeQuestion[],
  documents: readonly CorpusDocument[],
  chunks: readonly StoredChunk[],
): Map<KnowledgeQuestion, Set<string>> {
  const byTitle = new Map(documents.map((document) => [document.title, document]));
  const chunksOf = Map.groupBy(chunks, ({ title }) => title);
  return new Map(
    questions.map((question) => {
      const path = pathOfHeading(question, byTitle);
      const gold = (chunksOf.get(question.document) ?? []).filter((chunk) => isOfSection(chunk, path));
      if (gold.length === 0) throw new Error(`"${question.text}": no chunk of ${question.document} is of the section "${path}".`);
      return [question, new Set(gold.map(({ id }) => id))];
    }),
  );
}
