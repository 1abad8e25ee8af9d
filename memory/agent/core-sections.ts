/** CORE_MEMORY_SECTIONS adds more. */
export const DEFAULT_SECTIONS = ["profile", "preferences", "goals", "relationships", "constraints"] as const;

export const SECTION_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** With five sections of this size core memory stays a small part of a prompt. */
export const SECTION_CHARACTERS = 2_000;
