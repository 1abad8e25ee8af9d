import type { Slot } from "./slots.ts";

/** Something the user said about themself: "yes" it is so, "no" it is the opposite (a dislike), "over" it no longer is. */
export interface Fact {
  slot: Slot;
  polarity: "yes" | "no" | "over";
  /** What the slot is about where that takes two words: the role of a relation, the kind of a favourite; else "". */
  about: string;
  /** The value in a form that can be compared; "" with "over" means whatever the slot holds. */
  key: string;
  /** The line that is written. */
  text: string;
}
