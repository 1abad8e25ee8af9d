import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { makeForkStore } from "../../../../stores/postgres/conversations/fork-store.ts";
import { makeWindowStore } from "../../../../stores/postgres/turns/window-store.ts";
import type { Stores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const ALL = { limit: 200, after: null };

interface Talk extends OwnedConversation {
  sessionId: string;
}

/** Turns of one user, whose questions and answers are told apart by their numbers. */
export function talks({ database, begin, turns, messages }: Stores) {
  const owner = { tenantId: "tenant", userId: uuidv7() };
  const forks = makeForkStore(database);
  const windows = makeWindowStore(database);

  async function say(sessionId: string, message: string, taken: { editOf?: string; regenerate?: string } = {}): Promise<Talk> {
    const held = await begin({ ...owner, sessionId, message, ...taken });
    if (!held) throw new Error("the conversation is busy");
    await turns.finish(held, sampleAnswer({ content: `answer to ${message || "that"}`, userMessageId: held.messageId }));
    return { ...owner, conversationId: held.conversationId, sessionId };
  }
  async function talk(...said: string[]): Promise<Talk> {
    const sessionId = uuidv7();
    let of: Talk | undefined;
    for (const message of said) of = await say(sessionId, message);
    if (!of) throw new Error("nothing was said");
    return of;
  }
  const list = async (of: OwnedConversation) => (await messages.list(of, ALL)).items;
  const texts = async (of: OwnedConversation): Promise<string[]> => (await list(of)).map(({ content }) => content);
  async function fork(of: OwnedConversation, place: number | null): Promise<Talk> {
    const at = place === null ? null : ((await list(of))[place]?.id ?? null);
    const sessionId = uuidv7();
    return { ...owner, conversationId: await forks.fork({ ...of, at, sessionId }), sessionId };
  }
  async function window(of: OwnedConversation): Promise<string[]> {
    const asked = { ...of, exceptMessageId: uuidv7(), atLeast: 6, maxTokens: 100_000, useSummary: true };
    return (await windows.load(asked)).messages.map(({ content }) => content);
  }
  return { owner, forks, say, talk, list, texts, fork, window };
}

export const pair = (message: string): string[] => [message, `answer to ${message}`];
