import { useEffect, useRef, useState } from "preact/hooks";
import { isAsking, isOver, type LiveTurn, makeLiveTurn } from "../../state/turns/live-turn.ts";
import { loadQuestions } from "../../state/turns/questions.ts";
import { eraseTurn, runTurn } from "../../state/turns/run-turn.ts";
import { userId } from "../../state/page/settings.ts";
import { nameSession } from "../../browser/session-names.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { submitting } from "../loaded.tsx";
import { Markdown } from "../markdown.tsx";
import { Modal } from "../modal.tsx";
import { Acts, Plan, Thoughts } from "../chat/acts.tsx";
import { ClosedQuestions } from "../questions/closed-questions.tsx";
import { QuestionCard } from "../questions/question-card.tsx";

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

export function TryPanel({ agent, onClose }: { agent: string; onClose: () => void }) {
  const t = texts.value.agents;
  const [message, setMessage] = useState("");
  const [turn, setTurn] = useState<LiveTurn | null>(null);
  const last = useRef<LiveTurn | null>(null);

  function end(): void {
    // What cannot be erased taught nothing, and is a temporary conversation.
    if (last.current) void eraseTurn(last.current).then(loadQuestions, () => undefined);
  }
  useEffect(() => end, []);

  function ask(): void {
    end();
    const asked = makeLiveTurn({
      ...{ user_id: userId.value ?? "", session_id: nameSession("temporary-"), message: message.trim() },
      ...{ agent, remember: false, interactive: true },
      ...{ kb_prefix: null, agent_type: null, on_disconnect: "cancel" },
    });
    last.current = asked;
    setTurn(asked);
    void runTurn(asked, new AbortController().signal, () => undefined);
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
