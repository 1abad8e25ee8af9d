import type { SectionWithLines } from "../../../stores/postgres/memory/core-memory-store.ts";
import { inheritSources } from "../../../stores/postgres/memory/section-versions.ts";
import type { ReadingResult } from "../../../stores/postgres/memory/unread-store.ts";
import type { TurnToRead } from "../../../memory/core/remember-turns.ts";
import type { RecalledEpisode } from "../../../memory/recall/recall-episodes.ts";
import type { ToolCall } from "../../../memory/core/tool-schemas.ts";
import type { SourceMessage } from "../../../memory/core/section-drafts.ts";
import { makeToolRunner, type ToolRunner, type ToolRunnerParts } from "../../../memory/core/run-tool-calls.ts";
import { decided } from "./sample-reading.ts";
import { idOf } from "./sample-window.ts";

const NOON = new Date("2024-01-31T12:00:00.000Z");

/** An exchange that a search of the archive finds. */
export const RECALLED: RecalledEpisode = {
  id: "asked",
  conversationId: "earlier",
  userMessage: "I like green.",
  assistantMessage: "Noted.",
  messageIds: ["asked", "answered"],
  externalIds: [],
  createdAt: new Date("2024-01-30T12:00:00Z"),
  score: 1.5,
  similarity: 0.7,
  episodeType: "preference",
  importance: 0.8,
  neighbours: [],
};

/** A section at version 3, written by the agent at noon, its lines resting on nothing, unless `fields` say otherwise. */
export function storedSection(fields: Partial<SectionWithLines> = {}): SectionWithLines {
  const content = fields.content ?? "Name: Ada";
  const lines = inheritSources(content, { before: [], elsewhere: [] }, []);
  return { section: "profile", content, version: 3, updatedBy: "agent", updatedAt: NOON, saidAt: NOON, lines, ...fields };
}

export function nothingDecided(sections: readonly SectionWithLines[] = []): ReadingResult {
  const basedOn = { sections: sections.map(({ section, version }) => ({ section, version })), messageIds: [] };
  return decided({ basedOn });
}

export function turnToRead(userMessage: string, number = 1, fields: Partial<TurnToRead> = {}): TurnToRead {
  return {
    messageId: idOf(number),
    userMessage,
    assistantMessage: "Noted.",
    saidAt: new Date(NOON.getTime() + number * 60_000),
    actor: "agent",
    ...fields,
  };
}

export const TRIGGER: SourceMessage = { messageId: idOf(1), saidAt: NOON, actor: "agent" };
export const CONVERSATION_ID = idOf(900);

/** With the sections `profile` and `goals`, of which nothing is stored, and no archive, unless `parts` say otherwise. */
export function workingMemory(parts: Partial<ToolRunnerParts> = {}): ToolRunner & { do(call: ToolCall): Promise<string> } {
  const memory = makeToolRunner({
    conversationId: CONVERSATION_ID,
    sections: [],
    allowed: ["profile", "goals"],
    leftOut: new Set(),
    search: null,
    ...parts,
  });
  return { ...memory, do: (call) => memory.call(call, [TRIGGER]) };
}

export const update = (section: string, content: string, reason?: string): ToolCall => ({
  name: "core_memory_update",
  arguments: { section, content, ...(reason === undefined ? {} : { reason }) },
});

export const archive = (content: string, fields: object = {}): ToolCall => ({
  name: "archival_insert",
  arguments: { content, episode_type: "context", importance: 0.5, ...fields },
});
