import { readFile, writeFile } from "node:fs/promises";
import type { Embedder } from "../../../models/embedder.ts";
import { NEUTRAL_SENTENCES } from "../../../models/neutral-scale.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";

const here = (file: string): URL => new URL(file, import.meta.url);

/** What is said in one language, asked in the other, and whether a word, name or number is in both. */
export type Pair = [said: string, asked: string, carries: "yes" | "no"];

export async function readPairs(): Promise<Pair[]> {
  const table = await readFile(here("language-pairs.tsv"), "utf8");
  return table
    .trim()
    .split("\n")
    .map((line) => line.split("\t") as Pair);
}

/** About nothing that the pairs tell. */
export const UNRELATED = ["木星有几颗卫星？", "量子纠缠是什么原理？", "How many moons does Jupiter have?", "What is 2+2?"];

export const ANSWER = "OK.";

/** Numbers of a vector of length 1 as bytes: less than a hundredth of a cosine is lost. */
const STEPS = 127;

function encode(vector: readonly number[]): string {
  const largest = Math.max(...vector.map(Math.abs));
  return Buffer.from(Int8Array.from(vector, (value) => Math.round((value / largest) * STEPS)).buffer).toString("base64");
}

function decode(text: string): number[] {
  const bytes = [...new Int8Array(Buffer.from(text, "base64"))];
  const length = Math.hypot(...bytes);
  return bytes.map((value) => value / length);
}

interface RecordedVectors {
  model: string;
  questions: Record<string, string>;
  passages: Record<string, string>;
}

/** Writes language-vectors.json anew. */
export async function recordVectors(embedder: Embedder): Promise<void> {
  const pairs = await readPairs();
  const passages = [...NEUTRAL_SENTENCES, ...pairs.map(([said]) => `${said}\n${ANSWER}`)];
  const questions = [...UNRELATED, ...pairs.map(([, asked]) => asked)];
  const asked = await Promise.all(questions.map(async (text) => [text, encode(await embedder.embedQuestion(text))] as const));
  const told = (await embedder.embedPassages(passages)).map((vector, place) => [passages[place] ?? "", encode(vector)] as const);
  const recorded: RecordedVectors = {
    model: embedder.name,
    questions: Object.fromEntries(asked),
    passages: Object.fromEntries(told),
  };
  await writeFile(here("language-vectors.json"), `${JSON.stringify(recorded, null, 2)}\n`);
}

/** The model whose vectors were recorded; it knows no other texts. */
export async function readRecordedEmbedder(): Promise<Embedder> {
  const { model, questions, passages } = JSON.parse(await readFile(here("language-vectors.json"), "utf8")) as RecordedVectors;
  const find = (texts: Record<string, string>, text: string): number[] => {
    const vector = texts[text];
    if (vector === undefined) throw new Error(`No vector was recorded of ${JSON.stringify(text)}. Run write-language-vectors.ts.`);
    return decode(vector);
  };
  return {
    ...makeHashedEmbedder({}),
    name: model,
    dimensions: decode(Object.values(passages)[0] ?? "").length,
    vectorWeight: 0.625,
    favoursScripts: true,
    embedQuestion: async (text) => find(questions, text),
    embedPassages: async (texts) => texts.map((text) => find(passages, text)),
  };
}
