/** The sections that core memory has by itself; CORE_MEMORY_SECTIONS adds more. */
export const DEFAULT_SECTIONS = ["profile", "preferences", "goals", "relationships", "constraints"] as const;

/** What a section may be called. */
export const SECTION_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** Characters of one section. With five of them core memory stays a small part of a prompt. */
export const SECTION_CHARACTERS = 2_000;
