import { v7 as uuidv7 } from "uuid";
import { TURN_DEFAULTS } from "../../../turn/context.ts";
import type { ConversationState } from "../../../turn/state.ts";
import { makeRetrieve } from "../../../nodes/retrieve.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import { type FilledKnowledgeBase, PLACE } from "./open-base.ts";
import type { CorpusDocument } from "./read-corpus.ts";
import { type Figure, figureOf } from "../figures.ts";

const EPISODES = 1_000;
const WARM_UP = 20;
const OWNER = { tenantId: PLACE.tenantId, userId: "ada" };

interface NodeToMeasure {
  documents: readonly CorpusDocument[];
  questions: readonly string[];
  rounds: number;
  chunks: number;
  onProgress: (text: string) => void;
}

/**
 * Fills the base up to so many chunks with further copies of its documents and gives a user 1,000 episodes, all through the service's jobs.
 */
async function fill(base: FilledKnowledgeBase, { documents, chunks: wantedChunks, onProgress }: NodeToMeasure): Promise<number> {
  let chunks = (await base.listChunks()).length;
  const perDocument = chunks / documents.length;
  for (let copy = 2; chunks < wantedChunks; copy++) {
    const wanted = documents.slice(0, Math.ceil((wantedChunks - chunks) / perDocument));
    const copies = wanted.map(({ title, bytes }) => ({ title: `${title} ${copy}`, bytes }));
    await base.bringIn(copies, (done) => onProgress(`copy ${copy}: ${done} of ${wanted.length} documents brought in`));
    chunks = (await base.listChunks()).length;
  }
  const exchanges = generateDialogues({ count: 2, turns: EPISODES / 2 }).flatMap((dialogue) => dialogue.exchanges);
  const messages = exchanges.flatMap(({ user, assistant }) => [
    { role: "user" as const, content: user, createdAt: null, metadata: {} },
    { role: "assistant" as const, content: assistant, createdAt: null, metadata: {} },
  ]);
  await makeImportStore(base.database).import({ ...OWNER, sessionId: "all", messages, jobKinds: ["index_episodes"] });
  await base.settle(() => onProgress(`${exchanges.length} episodes are being indexed`));
  return chunks;
}

export async function measureNode(base: FilledKnowledgeBase, node: NodeToMeasure): Promise<Figure[]> {
  const { questions, rounds, onProgress } = node;
  const chunks = await fill(base, node);
  const { recall, findPassages } = base.memory;
  const retrieve = makeRetrieve({ recall, findPassages, ...TURN_DEFAULTS, timeoutMs: 60_000, scope: "user" });
  const times: Record<"without" | "with", number[]> = { without: [], with: [] };
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const episodes of ["without", "with"] as const) {
      // The words behind it differ each time, because the embedder remembers vectors of questions.
      const message = `${questions[(round + WARM_UP) % questions.length]} (${round} ${episodes})`;
      const asked = { ...OWNER, conversationId: uuidv7(), message, recentMessages: [], error: null, agentType: "hybrid_agent" };
      const state = { ...asked, kbPrefix: PLACE.prefix, useRetrieval: true, hasEpisodes: episodes === "with" };
      const began = performance.now();
      const { degraded, retrievalResults } = await retrieve(state as unknown as ConversationState, {});
      const ms = performance.now() - began;
      if (!Array.isArray(retrievalResults) || (degraded as string[]).length > 0)
        throw new Error("The retrieve node did not search wholly.");
      if (round >= 0) times[episodes].push(ms);
    }
    onProgress(`retrieve node: round ${round} of ${rounds}`);
  }
  return [
    figureOf(`retrieve node, ${chunks} chunks`, "ms", [times.without]),
    figureOf(`retrieve node, ${chunks} chunks and ${EPISODES} episodes`, "ms", [times.with]),
  ];
}
