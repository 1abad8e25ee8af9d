import { v7 as uuidv7 } from "uuid";
import type { z } from "zod";
import type { MemoryOperation } from "../../stores/postgres/memory/operation-store.ts";
import type { MemoryToArchive, ReadingResult } from "../../stores/postgres/memory/unread-store.ts";
import type { SectionWithLines } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Actor } from "../../stores/postgres/memory/write-sections.ts";
import { shortenQuoted } from "../../text/tokens.ts";
import { fence } from "../../text/fence.ts";
import type { RecalledEpisode } from "../recall/recall-episodes.ts";
import { isToolName, parseTurnNumbers, TOOL_ARGUMENTS, type ToolName } from "./memory-tools.ts";
import { makeSectionDrafts, type Said } from "./section-drafts.ts";

/** The message that a decision comes from. */
export interface Trigger {
  messageId: string;
  /** When it was said. */
  saidAt: Date;
  actor: Actor;
}

export interface WorkingMemoryParts {
  conversationId: string;
  sections: readonly SectionWithLines[];
  /** Names of sections that may be written. */
  allowed: readonly string[];
  /** Lines, as `lineKey` gives them, that a person has left out since these turns were said: they are not learnt from them again. */
  leftOut: ReadonlySet<string>;
  /** Ranked as a turn would; null: there is no archive. */
  search: ((query: string, limit: number, episodeType?: string) => Promise<RecalledEpisode[]>) | null;
}

/** A call of a tool, its arguments as they came. */
export interface ToolCall {
  name: string;
  arguments: unknown;
}

/** A section as it was decided by someone who knows what each line comes from. */
export interface DecidedSection {
  section: string;
  lines: readonly DecidedLine[];
  reason: string;
}

export interface DecidedLine {
  text: string;
  /** The line of the section that it is made of. */
  madeOf?: string | undefined;
  /** It was there, and was said again. */
  isRepeated?: boolean | undefined;
}

/** What the memory agent works on while it decides: nothing is written until all of it is, in one transaction. */
export interface WorkingMemory {
  /** Content by section, as it is after the calls so far. */
  contents(): Record<string, string>;
  /** Does a call, or refuses it, and says so in words that the model is told. `read` are the turns it was made on, numbered from 1 in its arguments. */
  call(call: ToolCall, read: readonly Trigger[]): Promise<string>;
  /** Writes a section as one turn gives rise to it. */
  write(decided: DecidedSection, trigger: Trigger): void;
  result(): ReadingResult;
}

/** Of what a search finds, each message has at most this many tokens: there may be twenty exchanges. */
const FOUND_TOKENS = 200;
/** Of what a refused call held, this much is logged. */
const LOGGED_CHARACTERS = 2_000;

/** Whatever ends a line anywhere. */
const LINE_ENDS = /\r\n|[\r\u0085\u2028\u2029]/g;

type Arguments<Name extends ToolName> = z.infer<(typeof TOOL_ARGUMENTS)[Name]>;

const logged = (value: unknown, characters = LOGGED_CHARACTERS): string | null =>
  typeof value === "string" ? [...value.toWellFormed().replaceAll("\0", "")].slice(0, characters).join("") : null;

const UNSET = { section: null, version: null, oldValue: null, newValue: null, reason: null, refused: null };

export function makeWorkingMemory({ conversationId, sections, allowed, leftOut, search }: WorkingMemoryParts): WorkingMemory {
  const written = makeSectionDrafts({ conversationId, sections, leftOut });
  const operations: MemoryOperation[] = [];
  const archived: MemoryToArchive[] = [];
  /** Messages of other turns that were shown: what is written then, and says not what it rests on, may come from there too. */
  const found = new Set<string>();

  function log(operation: string, triggers: readonly Trigger[], values: Partial<MemoryOperation>): void {
    const triggerMessageIds = triggers.map(({ messageId }) => messageId);
    operations.push({
      ...UNSET,
      id: uuidv7(),
      operation,
      actor: triggers.at(-1)?.actor ?? "agent",
      conversationId,
      triggerMessageIds,
      ...values,
    });
  }

  /** What a refused call is told; undefined when it was done. */
  function update({ section, content, reason, turns }: Arguments<"core_memory_update">, triggers: readonly Trigger[]) {
    return written.rewrite({ section, content: content.replace(LINE_ENDS, "\n").trim(), reason: reason ?? null, turns }, triggers, found);
  }

  function archive({ content, episode_type, importance, turns }: Arguments<"archival_insert">, triggers: readonly Trigger[]): Said {
    const parsed = parseTurnNumbers(turns, { lines: [{ isNew: true }], count: triggers.length });
    if ("refused" in parsed) return parsed;
    const named = parsed.named.length > 0 ? triggers.filter((_, index) => parsed.named.includes(index + 1)) : triggers;
    const triggerMessageIds = named.map(({ messageId }) => messageId);
    const same = archived.find((memory) => memory.content === content);
    if (same) {
      same.triggerMessageIds = [...new Set([...same.triggerMessageIds, ...triggerMessageIds])];
      return { said: "That is archived already." };
    }
    archived.push({ id: uuidv7(), triggerMessageIds, content, episodeType: episode_type, importance });
    log("archival_insert", named, { newValue: content });
    return { said: "Archived." };
  }

  async function find({ query, limit, episode_type }: Arguments<"archival_search">, triggers: readonly Trigger[]): Promise<Said> {
    const episodes = search ? await search(query, limit, episode_type) : [];
    episodes.forEach(({ messageIds }) => messageIds.forEach((id) => found.add(id)));
    log("archival_search", triggers, { reason: query });
    if (episodes.length === 0) return { said: "Nothing was found." };
    const pieces = episodes.flatMap(({ createdAt, userMessage, assistantMessage }) => {
      const day = `[${createdAt.toISOString().slice(0, 10)}]`;
      const answer = { label: userMessage ? "Answer:" : `${day} Answer:`, text: shortenQuoted(assistantMessage, FOUND_TOKENS) };
      return [
        ...(userMessage ? [{ label: day, text: shortenQuoted(userMessage, FOUND_TOKENS) }] : []),
        ...(assistantMessage ? [answer] : []),
      ];
    });
    return { said: fence("earlier_exchanges", pieces) };
  }

  /** Why a call cannot be done; undefined when it can. */
  function refusalOf({ name, arguments: given }: ToolCall): string | undefined {
    if (!isToolName(name)) return `There is no tool "${logged(name, 100)}". There are ${Object.keys(TOOL_ARGUMENTS).join(", ")}.`;
    const parsed = TOOL_ARGUMENTS[name].safeParse(given);
    if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`).join("; ");
    if ("section" in parsed.data && !allowed.includes(parsed.data.section))
      return `There is no section "${parsed.data.section}". There are ${allowed.join(", ")}.`;
    if (name !== "core_memory_update" && !search) return "The archive is switched off.";
    return undefined;
  }

  function refuse({ name, arguments: given }: ToolCall, refused: string, triggers: readonly Trigger[]): string {
    const { section, content, query, reason } = (typeof given === "object" && given !== null ? given : {}) as Record<string, unknown>;
    const isKnown = isToolName(name);
    const operation = isKnown ? (name === "core_memory_update" ? "core_update" : name) : "unknown_tool";
    log(operation, triggers, {
      section: logged(section, 100),
      newValue: logged(content),
      reason: logged(isKnown ? (reason ?? query) : name),
      refused,
    });
    return `Refused: ${refused}`;
  }

  function run({ name, arguments: given }: ToolCall, triggers: readonly Trigger[]): Said | Promise<Said> {
    if (name === "core_memory_update") return update(TOOL_ARGUMENTS.core_memory_update.parse(given), triggers);
    if (name === "archival_insert") return archive(TOOL_ARGUMENTS.archival_insert.parse(given), triggers);
    return find(TOOL_ARGUMENTS.archival_search.parse(given), triggers);
  }

  return {
    contents: () => written.contents(),
    async call(call, triggers) {
      const refused = refusalOf(call);
      const said = refused === undefined ? await run(call, triggers) : { refused };
      return "refused" in said ? refuse(call, said.refused, triggers) : said.said;
    },
    write(decided, trigger) {
      const { section, lines, reason } = decided;
      const call = { name: "core_memory_update", arguments: { section, content: lines.map(({ text }) => text).join("\n"), reason } };
      const refused = refusalOf(call);
      if (refused === undefined) written.write(decided, trigger);
      else refuse(call, refused, [trigger]);
    },
    result: () => ({
      ...written.result(),
      operations,
      archived,
      basedOn: { sections: sections.map(({ section, version }) => ({ section, version })), messageIds: [...found] },
    }),
  };
}
