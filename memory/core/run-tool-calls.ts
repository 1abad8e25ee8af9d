import { v7 as uuidv7 } from "uuid";
import { type MemoryOperation, NO_VALUES } from "../../stores/postgres/memory/operation-store.ts";
import type { ReadingResult } from "../../stores/postgres/memory/unread-store.ts";
import { fence } from "../../text/fence.ts";
import { splitLines } from "../../text/split-sentences.ts";
import { shortenQuoted } from "../../text/tokens.ts";
import type { RecalledEpisode } from "../recall/recall-episodes.ts";
import { makeArchiveDrafts } from "./archive-drafts.ts";
import { checkArguments, type CheckedCall, isToolName, TOOL_ARGUMENTS, type ToolArguments, type ToolCall } from "./tool-schemas.ts";
import { type CallOutcome, type DecidedSection, makeSectionDrafts, type SectionDraftsParts, type SourceMessage } from "./section-drafts.ts";
import type { EpisodeType } from "../../turn/state.ts";

export interface ToolRunnerParts extends SectionDraftsParts {
  allowed: readonly string[];
  search: ((query: string, limit: number, episodeType?: EpisodeType) => Promise<RecalledEpisode[]>) | null;
}

export const isRefusal = (said: string): boolean => said.startsWith("Refused: ");

export type ToolRunner = ReturnType<typeof makeToolRunner>;

/** The limit for each found message: there may be twenty exchanges. */
const FOUND_TOKENS = 200;
/** A refused call's characters in the log. */
const LOGGED_CHARACTERS = 2_000;

/** The memory agent's work in one reading, written in one transaction. */
export function makeToolRunner({ conversationId, sections, allowed, leftOut, search }: ToolRunnerParts) {
  const drafts = makeSectionDrafts({ conversationId, sections, leftOut });
  const operations: MemoryOperation[] = [];
  /** Messages that the model was shown: later writes may rest on them. */
  const found = new Set<string>();
  const archive = makeArchiveDrafts(log, found);

  function log(operation: string, sources: readonly SourceMessage[], values: Partial<MemoryOperation>): void {
    operations.push({
      ...NO_VALUES,
      id: uuidv7(),
      operation,
      actor: sources.at(-1)?.actor ?? "agent",
      conversationId,
      triggerMessageIds: sources.map(({ messageId }) => messageId),
      ...values,
    });
  }

  function update({ section, content, reason, turns }: ToolArguments<"core_memory_update">, read: readonly SourceMessage[]): CallOutcome {
    return drafts.rewrite({ section, content: splitLines(content).join("\n").trim(), reason: reason ?? null, turns }, read, found);
  }

  async function find(given: ToolArguments<"archival_search">, read: readonly SourceMessage[]): Promise<CallOutcome> {
    const { query, limit, episode_type } = given;
    const episodes = search ? await search(query, limit, episode_type) : [];
    episodes.forEach(({ messageIds }) => messageIds.forEach((id) => found.add(id)));
    const [best] = episodes;
    const topResult = best ? { id: best.id, score: best.score } : null;
    log("archival_search", read, { reason: query, episodeType: episode_type ?? null, resultsCount: episodes.length, topResult });
    const shown = archive.show(episodes);
    return { said: shown.length === 0 ? "Nothing was found." : fence("earlier_exchanges", shown.flatMap(toPieces)) };
  }

  function check({ name, arguments: given }: ToolCall): CheckedCall | { refused: string } {
    if (!isToolName(name))
      return { refused: `There is no tool "${loggable(name, 100)}". There are ${Object.keys(TOOL_ARGUMENTS).join(", ")}.` };
    const call = checkArguments(name, given);
    if ("refused" in call) return call;
    if (call.name === "core_memory_update" && !allowed.includes(call.arguments.section))
      return { refused: `There is no section "${call.arguments.section}". There are ${allowed.join(", ")}.` };
    if (call.name !== "core_memory_update" && !search) return { refused: "The archive is switched off." };
    return call;
  }

  function run(call: CheckedCall, read: readonly SourceMessage[]): CallOutcome | Promise<CallOutcome> {
    switch (call.name) {
      case "core_memory_update":
        return update(call.arguments, read);
      case "archival_insert":
        return archive.insert(call.arguments, read);
      case "archival_update":
        return archive.update(call.arguments, read);
      case "archival_delete":
        return archive.delete(call.arguments, read);
      case "archival_search":
        return find(call.arguments, read);
    }
  }

  function logRefused({ name, arguments: given }: ToolCall, refused: string, read: readonly SourceMessage[]): void {
    const { section, content, query, reason } = (typeof given === "object" && given !== null ? given : {}) as Record<string, unknown>;
    const isKnown = isToolName(name);
    const operation = isKnown ? (name === "core_memory_update" ? "core_update" : name) : "unknown_tool";
    log(operation, read, {
      section: loggable(section, 100),
      newValue: loggable(content),
      reason: loggable(isKnown ? (reason ?? query) : name),
      refused,
    });
  }

  return {
    contents: drafts.contents,
    /** Runs or refuses a model's call, and returns words for the model. Its arguments number the turns of `read` from 1. */
    async call(call: ToolCall, read: readonly SourceMessage[]): Promise<string> {
      const checked = check(call);
      const outcome = "refused" in checked ? checked : await run(checked, read);
      if ("said" in outcome) return outcome.said;
      logRefused(call, outcome.refused, read);
      return `Refused: ${outcome.refused}`;
    },
    write(decided: DecidedSection, source: SourceMessage): void {
      const content = decided.lines.map(({ text }) => text).join("\n");
      const call = { name: "core_memory_update", arguments: { section: decided.section, content } };
      const checked = check(call);
      if ("refused" in checked) logRefused(call, checked.refused, [source]);
      else drafts.write(decided, source);
    },
    result: (): ReadingResult => ({
      ...drafts.result(),
      ...archive.result(),
      operations,
      basedOn: { sections: sections.map(({ section, version }) => ({ section, version })), messageIds: [...found] },
    }),
  };
}

function toPieces({ episode, number }: { episode: RecalledEpisode; number: number | null }): { label: string; text: string }[] {
  const { createdAt, episodeType, importance, userMessage, assistantMessage } = episode;
  const about = `[${createdAt.toISOString().slice(0, 10)}, ${episodeType}, importance ${importance}${number === null ? "" : `, memory ${number}`}]`;
  const asked = { label: about, text: shortenQuoted(userMessage, FOUND_TOKENS) };
  const answer = { label: userMessage ? "Answer:" : `${about} Answer:`, text: shortenQuoted(assistantMessage, FOUND_TOKENS) };
  return [...(userMessage ? [asked] : []), ...(assistantMessage ? [answer] : [])];
}

/** The storable part of a text; null for anything else. */
function loggable(value: unknown, characters = LOGGED_CHARACTERS): string | null {
  return typeof value === "string" ? [...value.toWellFormed().replaceAll("\0", "")].slice(0, characters).join("") : null;
}
