import { useEffect, useRef, useState } from "preact/hooks";
import { cancelTurn, eraseConversation, readTurn } from "../../api/endpoints.ts";
import { isAsking, isOver, type LiveTurn, makeLiveTurn } from "../../state/turns/live-turn.ts";
import { loadQuestions } from "../../state/turns/questions.ts";
import { runTurn } from "../../state/turns/run-turn.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { submitting } from "../loaded.tsx";
import { Markdown } from "../markdown.tsx";
import { Modal } from "../modal.tsx";
import { Acts, Plan, Thoughts } from "../chat/acts.tsx";
import { ClosedQuestions } from "../questions/closed-questions.tsx";
import { QuestionCard } from "../questions/question-card.tsx";

/** Ends a try and deletes what is left of it. */
async function forget(turn: LiveTurn): Promise<void> {
  const turnId = turn.turnId.value;
  if (turnId === null) return;
  if (!isOver(turn)) await cancelTurn(turnId);
  const { conversation_id: id } = await readTurn(turnId);
  if (id !== null) await eraseConversation(id, true);
  await loadQuestions();
}

function Tried({ turn }: { turn: LiveTurn }) {
  const { open, closed } = turn.asked.value;
  const error = turn.error.value;
  return (
    <div class="message from-assistant" aria-busy={!isOver(turn) && !isAsking(turn)} data-tried={turn.phase.value}>
      <Thoughts text={turn.thoughts.value} />
      <Plan items={turn.plan.value} />
      <Acts acts={turn.acts.value} of={isOver(turn) ? "over" : isAsking(turn) ? "asking" : "running"} />
      <ClosedQuestions of={closed} />
      <Markdown of={turn} read={() => [turn.text.value, isOver(turn)]} sources={[]} />
      {!isOver(turn) && !open && <p class="quiet">{texts.value.chat.waiting}</p>}
      {open && <QuestionCard key={open.id} turn={turn} question={open} />}
      {error && <ErrorNote error={error} />}
    </div>
  );
}

/** Sends an agent a message, beside its form. */
export function TryPanel({ agent, onClose }: { agent: string; onClose: () => void }) {
  const t = texts.value.agents;
  const [message, setMessage] = useState("");
  const [turn, setTurn] = useState<LiveTurn | null>(null);
  const last = useRef<{ turn: LiveTurn; leaving: AbortController } | null>(null);

  function end(): void {
    last.current?.leaving.abort();
    // What cannot be deleted taught nothing, and stands in the list of conversations.
    if (last.current) void forget(last.current.turn).catch(() => undefined);
  }
  useEffect(() => end, []);

  function ask(): void {
    end();
    const leaving = new AbortController();
    const asked = makeLiveTurn({
      ...{ user_id: userId.value ?? "", message: message.trim(), agent, remember: false, interactive: true },
      ...{ kb_prefix: null, agent_type: null, on_disconnect: "cancel" },
    });
    last.current = { turn: asked, leaving };
    setTurn(asked);
    void runTurn(asked, leaving.signal, () => undefined);
  }

  return (
    <Modal title={t.tryTitle(agent)} side="end" onClose={onClose}>
      <p class="quiet small">{t.tryExplain}</p>
      <form class="stack" onSubmit={submitting(() => message.trim() !== "" && ask())}>
        <label class="field">
          <span>{t.tryPlaceholder}</span>
          <textarea
            class="section-text"
            rows={3}
            dir="auto"
            value={message}
            onInput={({ currentTarget }) => setMessage(currentTarget.value)}
          />
        </label>
        <div class="actions start">
          <button type="submit" class="primary" disabled={message.trim() === ""}>
            {texts.value.chat.send}
          </button>
        </div>
      </form>
      {turn && <Tried key={turn.idempotencyKey} turn={turn} />}
    </Modal>
  );
}
