import { effect, signal } from "@preact/signals";
import { language } from "../../texts/texts.ts";
import { readChoice, writeChoice } from "../../browser/tab-storage.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const storedTheme = readChoice("theme");
export const theme = signal<Theme>(THEMES.find((name) => name === storedTheme) ?? "system");
export const userId = signal<string | null>(readChoice("user"));

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(prefersDark.matches);
prefersDark.addEventListener("change", ({ matches }) => (systemIsDark.value = matches));

const narrow = matchMedia("(max-width: 60rem)");
/** Panels beside the thread become drawers. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches));

export const isDark = (): boolean => theme.value === "dark" || (theme.value === "system" && systemIsDark.value);

export function chooseTheme(name: Theme): void {
  theme.value = name;
  writeChoice("theme", name === "system" ? null : name);
}

export function chooseUser(name: string | null): void {
  userId.value = name;
  writeChoice("user", name);
}

effect(() => {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});
