import { CHINESE_SENTENCES } from "./chinese-sentences.ts";
import { ENGLISH_SENTENCES } from "./english-sentences.ts";
import type { Sentence } from "./sentence.ts";

/** Sentences the rules were written with: every one has to come out as it says. */
export const SENTENCES: Sentence[] = [...ENGLISH_SENTENCES, ...CHINESE_SENTENCES];
