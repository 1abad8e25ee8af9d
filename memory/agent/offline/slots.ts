import type { DEFAULT_SECTIONS } from "../core-sections.ts";

/** A section of core memory that the rules write to. */
export type SectionName = (typeof DEFAULT_SECTIONS)[number];

interface SlotKind {
  section: SectionName;
  /** A new value takes the place of the old one; else values stand side by side. "about" is single for each role, kind or pair it names. */
  holds: "one" | "many" | "one about";
}

const one = (section: SectionName): SlotKind => ({ section, holds: "one" });
const many = (section: SectionName): SlotKind => ({ section, holds: "many" });

/** What a fact can be about, where it is kept, and whether there can be more than one. */
export const SLOTS = {
  name: one("profile"),
  nickname: one("profile"),
  home: one("profile"),
  origin: one("profile"),
  upbringing: one("profile"),
  birthplace: one("profile"),
  birth: one("profile"),
  age: one("profile"),
  birthday: one("profile"),
  job: one("profile"),
  employer: one("profile"),
  workplace: one("profile"),
  study: one("profile"),
  note: many("profile"),
  taste: many("preferences"),
  favourite: { section: "preferences", holds: "one about" },
  prefer: { section: "preferences", holds: "one about" },
  goal: many("goals"),
  relation: { section: "relationships", holds: "one about" },
  allergy: many("constraints"),
  diet: one("constraints"),
  avoids: many("constraints"),
  condition: many("constraints"),
} satisfies Record<string, SlotKind>;

export type Slot = keyof typeof SLOTS;
