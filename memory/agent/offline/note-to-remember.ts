import { cleanValue } from "./clean-value.ts";
import type { Fact } from "./fact.ts";
import { keyOf } from "./key-of.ts";

/** Who speaks of the assistant, its rules or their own rights gives orders, whatever the words in front. */
const ORDERS =
  /\b(?:you|your|yours|repl(?:y|ies)|answers?|respon(?:d|ses?)|rules?|orders?|allowed|entitled|owner|creator|developer|boss of|commands?|secret|model|memory|chat|conversation|question|want you)\b|回答|回复|助手|规则|命令|允许|主人|创造者|模型|记忆|对话|问题|听我/iu;
const ENGLISH =
  /^(?:i|my|we|our) (?=.*\b(?:is|are|am|was|have|has|got|keep|need|starts?|ends?|left|put|parked|prefer|use|[a-z]{3,}s)\b)(?:\S+ ){3,}\S+$/iu;
const CHINESE = /^我.{4,}$/u;

/** What a user asked to be remembered that is no fact of another kind, in their words; null for orders and for half sentences. */
export function noteToRemember(what: string): Fact | null {
  const value = ORDERS.test(what) ? null : cleanValue(what);
  if (value === null || !(ENGLISH.test(value) || CHINESE.test(value))) return null;
  const text = /\p{Script=Han}/u.test(value) ? `要记住：${value}。` : `Asked to remember: ${value}.`;
  return { slot: "note", polarity: "yes", about: "", key: keyOf(value), text };
}
