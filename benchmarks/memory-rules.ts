import { changedLines } from "../test/memory/agent/offline/changed-lines.ts";
import { HELD_OUT_SENTENCES } from "../test/memory/agent/offline/held-out-sentences.ts";
import type { Sentence } from "../test/memory/agent/offline/sentence.ts";
import { SENTENCES } from "../test/memory/agent/offline/sentences.ts";
import { writeResults } from "./support/write-results.ts";

interface Row {
  table: string;
  language: string;
  kind: string;
  sentences: number;
  expected: number;
  written: number;
  right: number;
  /** Share of what was written that is expected; null when nothing was written. */
  precision: number | null;
  /** Share of what is expected that was written; null when nothing is expected. */
  recall: number | null;
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
const percent = (value: number | null): string => (value === null ? "–" : `${(value * 100).toFixed(1)} %`);

function score(sentences: Sentence[], names: Pick<Row, "table" | "language" | "kind">): Row {
  let [expected, written, right] = [0, 0, 0];
  for (const sentence of sentences) {
    const changed = changedLines(sentence);
    expected += sentence.expected.length;
    written += changed.length;
    right += changed.filter((line) => sentence.expected.includes(line)).length;
  }
  return {
    ...names,
    sentences: sentences.length,
    expected,
    written,
    right,
    precision: share(right, written),
    recall: share(right, expected),
  };
}

function scoreTable(table: string, sentences: Sentence[]): Row[] {
  const kinds = [...new Set(sentences.map(({ kind }) => kind))];
  return ["both", "English", "Chinese"].flatMap((language) => {
    const inLanguage = sentences.filter((sentence) => language === "both" || sentence.language === language);
    const byKind = kinds.map((kind) =>
      score(
        inLanguage.filter((sentence) => sentence.kind === kind),
        { table, language, kind },
      ),
    );
    return [score(inLanguage, { table, language, kind: "all" }), ...byKind.filter((row) => row.sentences > 0)];
  });
}

/**
 * How well the rules of the memory agent decide: of the lines they write and take away the share that is right, and of those expected the
 * share they find, on the sentences they were written with and on others that were set aside before.
 */
export async function benchMemoryRules(): Promise<void> {
  const rows = [...scoreTable("tuned on", SENTENCES), ...scoreTable("held out", HELD_OUT_SENTENCES)];
  console.log("| table | language | kind | sentences | expected | written | precision | recall |");
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const { table, language, kind, sentences, expected, written, precision, recall } of rows) {
    const figures = [sentences, expected, written, percent(precision), percent(recall)].join(" | ");
    console.log(`| ${table} | ${language} | ${kind} | ${figures} |`);
  }
  await writeResults("memory-rules", { rows });
}
