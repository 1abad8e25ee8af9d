import type { FindPassages } from "../../../memory/knowledge/find-passages.ts";
import { PLACE } from "./open-base.ts";
import { UNRELATED_TO_KNOWLEDGE, type KnowledgeQuestion } from "./questions.ts";

/** What a question got back. Places count from 1; null when it is not among the first 10. */
export interface AskedKnowledge {
  question: KnowledgeQuestion;
  sectionAt: number | null;
  documentAt: number | null;
}

/** Shares are 0 to 1. */
export type KnowledgeFigures = ReturnType<typeof knowledgeFigures>;

const LIMIT = 10;

export async function askKnowledge(
  find: FindPassages,
  gold: Map<KnowledgeQuestion, Set<string>>,
): Promise<{ asked: AskedKnowledge[]; times: number[] }> {
  const asked: AskedKnowledge[] = [];
  const times: number[] = [];
  const placeOf = (index: number): number | null => (index === -1 ? null : index + 1);
  for (const [question, chunks] of gold) {
    const began = performance.now();
    const { passages } = await find({ ...PLACE, question: question.text, by: "hybrid", limit: LIMIT });
    times.push(performance.now() - began);
    asked.push({
      question,
      sectionAt: placeOf(passages.findIndex(({ id }) => chunks.has(id))),
      documentAt: placeOf(passages.findIndex(({ title }) => title === question.document)),
    });
  }
  return { asked, times };
}

export async function askUnrelatedKnowledge(find: FindPassages): Promise<string[]> {
  const answered: string[] = [];
  for (const question of UNRELATED_TO_KNOWLEDGE) {
    const { passages } = await find({ ...PLACE, question, by: "hybrid", limit: 1 });
    if (passages.length > 0) answered.push(question);
  }
  return answered;
}

export function knowledgeFigures(asked: readonly AskedKnowledge[]) {
  const mean = (value: (one: AskedKnowledge) => number): number => asked.reduce((sum, one) => sum + value(one), 0) / asked.length;
  const within = (place: number | null, first: number): number => (place !== null && place <= first ? 1 : 0);
  return {
    questions: asked.length,
    /** A question has one section, so this is recall@5. */
    sectionAt5: mean(({ sectionAt }) => within(sectionAt, 5)),
    documentAt5: mean(({ documentAt }) => within(documentAt, 5)),
    /** A turn gets four passages by default. */
    sectionAt4: mean(({ sectionAt }) => within(sectionAt, 4)),
    mrr: mean(({ sectionAt }) => (sectionAt === null ? 0 : 1 / sectionAt)),
  };
}
