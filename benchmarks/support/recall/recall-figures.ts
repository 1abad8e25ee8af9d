/** What a question got back, best first. */
export interface Answered {
  /** Units that answer it. */
  gold: readonly string[];
  returned: readonly { units: readonly string[]; characters: number }[];
}

/** Means over questions; shares are 0 to 1. */
export interface RecallFigures {
  questions: number;
  /** Gold units among the first 5 and 10 returned exchanges, of all gold units. */
  recallAt5: number;
  recallAt10: number;
  /** Questions with any, and with every, gold unit among the first 5. */
  hitAt5: number;
  allAt5: number;
  /** Mean of 1 / the place of the first exchange with a gold unit. */
  mrr: number;
  /** Gold units in the first exchanges that have 4,000 characters together; one that goes beyond does not count. */
  recallIn4000: number;
}

const CHARACTERS = 4_000;

function figuresOfOne({ gold, returned }: Answered): Omit<RecallFigures, "questions"> {
  const recallOf = (items: Answered["returned"]): number => {
    const units = new Set(items.flatMap((item) => item.units));
    return gold.filter((unit) => units.has(unit)).length / gold.length;
  };
  const wanted = new Set(gold);
  const first = returned.findIndex(({ units }) => units.some((unit) => wanted.has(unit)));
  let characters = 0;
  const beyond = returned.findIndex((item) => (characters += item.characters) > CHARACTERS);
  const recallAt5 = recallOf(returned.slice(0, 5));
  return {
    recallAt5,
    recallAt10: recallOf(returned.slice(0, 10)),
    hitAt5: recallAt5 > 0 ? 1 : 0,
    allAt5: recallAt5 === 1 ? 1 : 0,
    mrr: first === -1 ? 0 : 1 / (first + 1),
    recallIn4000: recallOf(beyond === -1 ? returned : returned.slice(0, beyond)),
  };
}

/** Recall over all given questions. */
export function recallFigures(answers: readonly Answered[]): RecallFigures {
  const all = answers.map(figuresOfOne);
  const mean = (field: keyof (typeof all)[number]): number => all.reduce((sum, one) => sum + one[field], 0) / all.length;
  return {
    questions: all.length,
    recallAt5: mean("recallAt5"),
    recallAt10: mean("recallAt10"),
    hitAt5: mean("hitAt5"),
    allAt5: mean("allAt5"),
    mrr: mean("mrr"),
    recallIn4000: mean("recallIn4000"),
  };
}
