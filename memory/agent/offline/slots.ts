/** The labelled sections of core memory, in which order they are read. */
export const SECTIONS = ["profile", "preferences", "goals", "relationships", "constraints"] as const;

export type SectionName = (typeof SECTIONS)[number];

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
