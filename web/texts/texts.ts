import { batch, computed, signal } from "@preact/signals";
import { readChoice, writeChoice } from "../browser/tab-storage.ts";
import type { Texts } from "./en.ts";
import type { enViews } from "./views/en-views.ts";

/** Each in itself. */
export const LANGUAGES = { en: "English", zh: "中文" };
export type Language = keyof typeof LANGUAGES;

type ViewTexts = typeof enViews;
type AllTexts = Texts & ViewTexts;

const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: () => import("./en.ts").then((script) => script.en),
  zh: () => import("./zh.ts").then((script) => script.zh),
};
const VIEW_LOADERS: Record<Language, () => Promise<ViewTexts>> = {
  en: () => import("./views/en-views.ts").then((script) => script.enViews),
  zh: () => import("./views/zh-views.ts").then((script) => script.zhViews),
};
let needsViews = false;

const isLanguage = (name: string | null | undefined): name is Language => name === "en" || name === "zh";

function firstLanguage(): Language {
  const chosen = readChoice("language");
  if (isLanguage(chosen)) return chosen;
  return navigator.languages.map((name) => name.split("-")[0]).find(isLanguage) ?? "en";
}

export const language = signal<Language>(firstLanguage());
const loaded = signal<AllTexts | null>(null);

/** Nothing is shown before they are loaded. */
export const texts = computed<AllTexts>(() => {
  if (loaded.value === null) throw new Error("the texts are not loaded yet");
  return loaded.value;
});

export async function loadTexts(name: Language = language.value): Promise<void> {
  const [found, ofViews] = await Promise.all([LOADERS[name](), needsViews ? VIEW_LOADERS[name]() : null]);
  batch(() => {
    loaded.value = { ...found, ...ofViews } as AllTexts; // what needs the others waits for them
    language.value = name;
  });
}

export async function loadViewTexts(): Promise<void> {
  needsViews = true;
  await loadTexts();
}

export function chooseLanguage(name: Language): void {
  writeChoice("language", name);
  void loadTexts(name);
}

const locale = (): string => (language.value === "zh" ? "zh-CN" : "en-GB");

export const showNumber = (value: number, maximumFractionDigits = 0): string =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits }).format(value);

/** In US dollars, with the significant digits. */
export function showCost(cost: { input_usd: number; output_usd: number } | null): string {
  if (cost === null) return texts.value.context.unknown;
  const form = { style: "currency", currency: "USD", maximumSignificantDigits: 3 } as const;
  return new Intl.NumberFormat(locale(), form).format(cost.input_usd + cost.output_usd);
}

/** Milliseconds below a second, seconds above. */
export const showDuration = (ms: number): string => (ms < 1_000 ? `${showNumber(ms)} ms` : `${showNumber(ms / 1_000, 1)} s`);

/** The time, with its day when it is not today. */
export function showTime(iso: string): string {
  const time = new Date(iso);
  const isToday = time.toDateString() === new Date().toDateString();
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { year: "numeric", month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(locale(), { ...day, hour: "2-digit", minute: "2-digit" }).format(time);
}
