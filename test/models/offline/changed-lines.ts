import { decideSections } from "../../../models/offline/decide-sections.ts";
import type { Sentence } from "./sentence.ts";

/** What the rules change, without sections that stay as they are. */
export function decideOffline(
  sections: Record<string, string>,
  message: string,
  options: { onlyAdd?: boolean; sectionLimit?: number } = {},
): { section: string; content: string; reason: string }[] {
  return decideSections(sections, message, { sectionLimit: 2_000, ...options })
    .map(({ section, lines, reason }) => ({ section, content: lines.map(({ text }) => text).join("\n"), reason }))
    .filter(({ reason }) => /"/.test(reason));
}

/** "profile: Lives in Rome." lines as the sections of core memory. */
export function toSections(known: string[]): Record<string, string> {
  const sections: Record<string, string> = {};
  for (const entry of known) {
    const [section = "", line = ""] = entry.split(/: (.*)/s);
    sections[section] = sections[section] === undefined ? line : `${sections[section]}\n${line}`;
  }
  return sections;
}

/** What the rules change for a sentence, in the form of `expected`: lines written, and with "-" before them those taken away. */
export function changedLines({ known = [], message }: Sentence): string[] {
  const sections = toSections(known);
  return decideOffline(sections, message).flatMap(({ section, content }) => {
    const [before, after] = [(sections[section] ?? "").split("\n"), content.split("\n")];
    return [
      ...after.filter((line) => line !== "" && !before.includes(line)).map((line) => `${section}: ${line}`),
      ...before.filter((line) => line !== "" && !after.includes(line)).map((line) => `-${section}: ${line}`),
    ];
  });
}
