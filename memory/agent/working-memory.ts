import { v7 as uuidv7 } from "uuid";
import type { z } from "zod";
import type { MemoryOperation } from "../../stores/postgres/operation-store.ts";
import type { MemoryToArchive, ReadingResult } from "../../stores/postgres/unread-store.ts";
import type { Actor, SectionChange, StoredSection } from "../../stores/postgres/write-sections.ts";
import { shortenText } from "../../models/shorten-text.ts";
import { fence } from "../fence.ts";
import type { RecalledEpisode } from "../recall/recall-episodes.ts";
import { isToolName, TOOL_ARGUMENTS, type ToolName } from "./memory-tools.ts";

/** The message that a decision comes from. */
export interface Trigger {
  messageId: string;
  /** When it was said. */
  saidAt: Date;
  actor: Actor;
}

export interface WorkingMemoryParts {
  conversationId: string;
  sections: readonly StoredSection[];
  /** Names of sections that may be written. */
  allowed: readonly string[];
  /** Ranked as a turn would; null: there is no archive. */
  search: ((query: string, limit: number) => Promise<RecalledEpisode[]>) | null;
}

/** A call of a tool, its arguments as they came. */
export interface ToolCall {
  name: string;
  arguments: unknown;
}

/** What the memory agent works on while it decides: nothing is written until all of it is, in one transaction. */
export interface WorkingMemory {
  /** Content by section, as it is after the calls so far. */
  contents(): Record<string, string>;
  /** Does a call, or refuses it, and says so in words that the model is told. */
  call(call: ToolCall, trigger: Trigger): Promise<string>;
  result(): ReadingResult;
}

/** Of what a search finds, each message has at most this many tokens: there may be twenty exchanges. */
const FOUND_TOKENS = 200;
/** Of what a refused call held, this much is logged. */
const LOGGED_CHARACTERS = 2_000;

type Arguments<Name extends ToolName> = z.infer<(typeof TOOL_ARGUMENTS)[Name]>;

const logged = (value: unknown, characters = LOGGED_CHARACTERS): string | null =>
  typeof value === "string" ? [...value.toWellFormed().replaceAll("\0", "")].slice(0, characters).join("") : null;

export function makeWorkingMemory({ conversationId, sections, allowed, search }: WorkingMemoryParts): WorkingMemory {
  const read = new Map(sections.map((section) => [section.section, section]));
  const contents = new Map(sections.map(({ section, content }) => [section, content]));
  const changes: SectionChange[] = [];
  const operations: MemoryOperation[] = [];
  const archived: MemoryToArchive[] = [];

  function log(operation: string, { messageId, actor }: Trigger, values: Partial<MemoryOperation>): void {
    operations.push({
      id: uuidv7(),
      operation,
      section: null,
      version: null,
      oldValue: null,
      newValue: null,
      reason: null,
      refused: null,
      ...values,
      actor,
      conversationId,
      triggerMessageId: messageId,
    });
  }

  function update({ section, content, reason }: Arguments<"core_memory_update">, trigger: Trigger): string {
    const before = contents.get(section) ?? "";
    const after = content.trim();
    if (after === before) return "Nothing changed: the section says that already.";
    contents.set(section, after);
    changes.push({
      section,
      content: after === "" ? null : after,
      expectedVersion: read.get(section)?.version ?? 0,
      actor: trigger.actor,
      reason: reason ?? null,
      conversationId,
      triggerMessageId: trigger.messageId,
      saidAt: trigger.saidAt,
    });
    return after === "" ? `The section "${section}" is cleared.` : `The section "${section}" now has this content.`;
  }

  function archive({ content, episode_type, importance }: Arguments<"archival_insert">, trigger: Trigger): string {
    if (archived.some((memory) => memory.content === content)) return "That is archived already.";
    archived.push({ id: uuidv7(), triggerMessageId: trigger.messageId, content, episodeType: episode_type, importance });
    log("archival_insert", trigger, { newValue: content });
    return "Archived.";
  }

  async function find({ query, limit }: Arguments<"archival_search">, trigger: Trigger): Promise<string> {
    const found = search ? await search(query, limit) : [];
    log("archival_search", trigger, { reason: query });
    if (found.length === 0) return "Nothing was found.";
    const texts = found.map(({ createdAt, userMessage, assistantMessage }) => {
      const asked = `[${createdAt.toISOString().slice(0, 10)}] ${shortenText(userMessage, FOUND_TOKENS)}`;
      return assistantMessage ? `${asked}\nAnswer: ${shortenText(assistantMessage, FOUND_TOKENS)}` : asked;
    });
    return fence("earlier_exchanges", texts.join("\n\n"));
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

  function refuse({ name, arguments: given }: ToolCall, refused: string, trigger: Trigger): string {
    const { section, content, query, reason } = (typeof given === "object" && given !== null ? given : {}) as Record<string, unknown>;
    const isKnown = isToolName(name);
    const operation = isKnown ? (name === "core_memory_update" ? "core_update" : name) : "unknown_tool";
    log(operation, trigger, {
      section: logged(section, 100),
      newValue: logged(content),
      reason: logged(isKnown ? (reason ?? query) : name),
      refused,
    });
    return `Refused: ${refused}`;
  }

  return {
    contents: () => Object.fromEntries([...contents].filter(([, content]) => content !== "")),
    async call(call, trigger) {
      const refused = refusalOf(call);
      if (refused !== undefined) return refuse(call, refused, trigger);
      if (call.name === "core_memory_update") return update(TOOL_ARGUMENTS.core_memory_update.parse(call.arguments), trigger);
      if (call.name === "archival_insert") return archive(TOOL_ARGUMENTS.archival_insert.parse(call.arguments), trigger);
      return find(TOOL_ARGUMENTS.archival_search.parse(call.arguments), trigger);
    },
    result: () => ({ changes, operations, archived }),
  };
}
