import { CHINESE_SENTENCES } from "./chinese-sentences.ts";
import { ENGLISH_SENTENCES } from "./english-sentences.ts";
import type { Sentence } from "./sentence.ts";

/** What people say, and what the rules make of it. Most of it changes nothing. */
export const SENTENCES: Sentence[] = [...ENGLISH_SENTENCES, ...CHINESE_SENTENCES];
