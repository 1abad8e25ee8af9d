import { CHINESE_RULES } from "./chinese-rules.ts";
import { ENGLISH_PROFILE_RULES } from "./english-profile-rules.ts";
import { ENGLISH_TASTE_RULES } from "./english-taste-rules.ts";

export const ENGLISH_RULES = [...ENGLISH_PROFILE_RULES, ...ENGLISH_TASTE_RULES];
/** What may be said in a clause with Chinese characters, names and places among them. */
export const ALL_RULES = [...CHINESE_RULES, ...ENGLISH_RULES];
