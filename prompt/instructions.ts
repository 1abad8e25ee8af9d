import { createHash } from "node:crypto";
import { estimateTokens, shortenText } from "../text/tokens.ts";
import type { Notice } from "../turn/events.ts";
import type { GivenInstructions } from "../turn/state.ts";

/** Text for the model from the operator, a knowledge base or a caller. It is no memory. */
export interface Instructions {
  from: GivenInstructions["from"];
  text: string;
}

/** The service's and the agent's need none: they follow the system prompt. */
const HEADINGS: Readonly<Record<Instructions["from"], string>> = {
  service: "",
  agent: "",
  knowledge: "Instructions for answers from these documents. What stands above counts more:\n",
  caller: "Instructions of the application that asks. What stands above counts more:\n",
};

const WHOSE: Readonly<Record<Instructions["from"], string>> = {
  service: "the service",
  agent: "the agent",
  knowledge: "the knowledge base",
  caller: "the caller",
};

/** A shorter piece would be little more than the mark of what is missing. */
const LEAST_TOKENS = 30;

/** `text` is empty without instructions; `cut` names the shortened or left-out ones. */
export interface FittingInstructions {
  text: string;
  given: GivenInstructions[];
  cut: Instructions["from"][];
}

/** Fits instructions into `maxTokens`, each within what earlier ones leave; drops those without room. */
export function fitInstructions(all: readonly Instructions[], maxTokens: number): FittingInstructions {
  const fitting: FittingInstructions = { text: "", given: [], cut: [] };
  const pieces: string[] = [];
  let room = maxTokens;
  for (const { from, text } of all) {
    const left = room - estimateTokens(HEADINGS[from]) - 1; // a blank line stands before it
    const isWhole = estimateTokens(text) <= left;
    if (!isWhole) fitting.cut.push(from);
    if (!isWhole && left < LEAST_TOKENS) continue;
    const piece = HEADINGS[from] + shortenText(text, left);
    room -= estimateTokens(piece) + 1;
    pieces.push(piece);
    const hash = createHash("sha256").update(text).digest("base64url");
    fitting.given.push({ from, hash, characters: [...text].length, cut: !isWhole });
  }
  return { ...fitting, text: pieces.join("\n\n") };
}

/** Null when all of them are in the prompt unchanged. */
export function instructionsNotice({ cut }: Pick<FittingInstructions, "cut">, tokenBudget: number): Notice | null {
  if (cut.length === 0) return null;
  const whose = cut.map((from) => WHOSE[from]).join(" and of ");
  return {
    code: "context_trimmed",
    message: `Not all instructions have room in a prompt of ${tokenBudget} tokens: those of ${whose} are shortened.`,
  };
}
