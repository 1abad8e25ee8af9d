import type { FindPassages } from "../../../memory/documents/find-passages.ts";
import { type Figure, figureOf } from "../figures.ts";
import { PLACE } from "./open-base.ts";
import { UNRELATED_TO_KNOWLEDGE, type KnowledgeQuestion } from "./questions.ts";

/** What a question got back. Places count from 1; null when it is not among the first 10. */
export interface AskedKnowledge {
  question: KnowledgeQuestion;
  sectionAt: number | null;
  documentAt: number | null;
}

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

const PARTS = {
  tuning: ({ question }: AskedKnowledge) => question.tuning,
  reported: ({ question }: AskedKnowledge) => !question.tuning,
  "reported, English": ({ question }: AskedKnowledge) => !question.tuning && question.language === "English",
  "reported, Chinese": ({ question }: AskedKnowledge) => !question.tuning && question.language === "Chinese",
};

/** Per cent of the questions whose section, or document, is among the first five passages, and among the four that a turn gets. */
export function placeFigures(asked: readonly AskedKnowledge[], by: string): Figure[] {
  return Object.entries(PARTS).flatMap(([part, isOfPart]) => {
    const own = asked.filter(isOfPart);
    const within = (what: string, field: "sectionAt" | "documentAt", first: number): Figure => {
      const found = own.filter((one) => (one[field] ?? Infinity) <= first).length;
      const name = `${what} among the first ${first}, ${part}, ${by}`;
      return { ...figureOf(name, "%", [[(100 * found) / own.length]]), samples: own.length };
    };
    return [within("section", "sectionAt", 5), within("document", "documentAt", 5), within("section", "sectionAt", 4)];
  });
}
