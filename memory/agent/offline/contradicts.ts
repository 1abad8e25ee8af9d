import type { Fact } from "./fact.ts";
import { isKindOf } from "./food-kinds.ts";
import type { LineFact } from "./read-line.ts";
import { SLOTS, type Slot } from "./slots.ts";

const GIVEN_UP: ReadonlySet<Slot> = new Set(["avoids", "diet", "allergy"]);
const LIKED: ReadonlySet<Slot> = new Set(["taste", "favourite", "prefer"]);
const PEOPLE_OF_ONE = new Set(["partner", "mother", "father"]);

type Known = Pick<LineFact, "slot" | "polarity" | "about">;

function holdsOne({ slot, about }: Known): boolean {
  const { holds } = SLOTS[slot];
  if (holds !== "one about") return holds === "one";
  return slot === "relation" ? PEOPLE_OF_ONE.has(about) : about !== "";
}

function inSameSlot(known: Known, key: string, fact: Fact): boolean {
  if (fact.polarity === "over") return (fact.key === "" || fact.key === key) && (fact.about === "" || fact.about === known.about);
  if (holdsOne(known)) return known.about === fact.about && key !== fact.key;
  return key === fact.key && known.polarity !== fact.polarity;
}

/** True when a value that is known cannot stay beside what has just been said. */
export function contradicts(known: Known, key: string, fact: Fact): boolean {
  if (known.slot === fact.slot) return inSameSlot(known, key, fact);
  if (!LIKED.has(known.slot) || known.polarity !== "yes") return false;
  if (fact.slot === "taste") return fact.polarity !== "yes" && key === fact.key;
  return GIVEN_UP.has(fact.slot) && fact.polarity === "yes" && isKindOf(key, fact.key);
}

/** True when something known speaks against a fact that is older than it: steak was liked before meat was given up. */
export function speaksAgainst(known: Known, key: string, fact: Fact): boolean {
  const givenUp = GIVEN_UP.has(known.slot) && LIKED.has(fact.slot) && fact.polarity === "yes" && isKindOf(fact.key, key);
  return givenUp || contradicts(known, key, fact);
}
