import { hasIntent } from "../../text/read-intent.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { isQuestion } from "../../text/telling-or-asking.ts";
import { shortenSentence } from "../../text/tokens.ts";
import type { SummaryParts } from "../../turn/summary-parts.ts";
import { sentenceWorth } from "./sentence-worth.ts";

type Message = { role: "user" | "assistant"; content: string };

const GOAL =
  /\b(?:i|we)(?: (?:really|just))? (?:want|need|hope|plan|am trying|are trying|would like)(?: (?:you )?to)\b|\b(?:my|our) goal\b|\bhelp (?:me|us)\b|我们?(?:的目标|想要?|需要|打算|计划|希望)|帮我/iu;
const TASK =
  /\b(?:to do|todo|still (?:have|need) to|remind me|don['’]?t forget|must|have to|need to|by (?:monday|tuesday|wednesday|thursday|friday|tomorrow))\b|还(?:要|得|需要|没)|待办|提醒我|别忘|必须|得先|之前(?:要|得|必须)/iu;
const NEXT = /\b(?:next(?: step)?|then (?:we|i|you)|after that|first,? (?:we|i|you|let))\b|下一步|接下来|然后(?:我|你|再)|首先/iu;
/** The worth from which a sentence is a fact. */
const FACT_WORTH = 4;
const LONGEST_ITEM_TOKENS = 40;
const MOST_ITEMS = 5;

/** Later ones count more; repetitions stand once. */
function newest(earlier: readonly string[], said: readonly string[]): string[] {
  return [...new Set([...earlier, ...said].toReversed())].slice(0, MOST_ITEMS).reverse();
}

/** The parts that plain rules find in the messages, after the earlier ones. Each sentence stands in the first fitting part. */
export function offlineParts(previous: SummaryParts | null, messages: readonly Message[]): SummaryParts {
  const found = { decisions: [], preferences: [], tasks: [], next: [], facts: [] } as Record<string, string[]>;
  let goal = previous?.core_goal ?? "";
  for (const { role, content } of messages) {
    for (const whole of splitSentences(content)) {
      if (isSmallTalk(whole)) continue;
      const sentence = shortenSentence(whole, LONGEST_ITEM_TOKENS);
      if (role === "assistant") {
        if (NEXT.test(whole)) found["next"]?.push(sentence);
        continue;
      }
      if (goal === "" && GOAL.test(whole)) goal = sentence;
      else if (isQuestion(whole)) continue;
      else if (hasIntent("decision", whole)) found["decisions"]?.push(sentence);
      else if (hasIntent("preference", whole)) found["preferences"]?.push(sentence);
      else if (TASK.test(whole)) found["tasks"]?.push(sentence);
      else if (sentenceWorth(whole, "user") >= FACT_WORTH) found["facts"]?.push(sentence);
    }
  }
  const last = messages.at(-1);
  const open = last?.role === "user" ? splitSentences(last.content).filter(isQuestion) : [];
  return {
    core_goal: goal,
    key_decisions: newest(previous?.key_decisions ?? [], found["decisions"] ?? []),
    important_facts: newest(previous?.important_facts ?? [], found["facts"] ?? []),
    pending_tasks: newest(previous?.pending_tasks ?? [], found["tasks"] ?? []),
    user_preferences: newest(previous?.user_preferences ?? [], found["preferences"] ?? []),
    context_clues: previous?.context_clues ?? [],
    unresolved_issues: open.map((sentence) => shortenSentence(sentence, LONGEST_ITEM_TOKENS)),
    next_steps: newest([], found["next"] ?? []),
  };
}
