import { retryTurn } from "../../state/turns/turns.ts";
import { isAsking, isOver, type LiveTurn } from "../../state/turns/live-turn.ts";
import { picturesOf, wordsOf } from "../../state/thread/message-parts.ts";
import { storedOf } from "../../state/thread/thread.ts";
import { citedSources, type Source, sourcesOf } from "../../state/page/sources.ts";
import { texts } from "../../texts/texts.ts";
import { PrimaryButton } from "../button.tsx";
import { ErrorNote } from "../error-note.tsx";
import { Markdown } from "../markdown.tsx";
import { ClosedQuestions } from "../questions/closed-questions.tsx";
import { QuestionCard } from "../questions/question-card.tsx";
import { Acts, Plan, Rejections, Thoughts } from "./acts.tsx";
import { Answer, AnswerNote } from "./answer.tsx";
import { CompressedNote } from "./compressed-note.tsx";
import { Sources } from "./sources.tsx";
import { UserMessage } from "./user-message.tsx";

const STOPPED = "turn_cancelled";
const NO_SOURCES: readonly Source[] = [];

function Progress({ turn }: { turn: LiveTurn }) {
  const t = texts.value.chat;
  const phase = turn.phase.value;
  if (phase === "reconnecting") return <p class="note warning">{turn.turnId.value === null ? t.sendingAgain : t.reconnecting}</p>;
  if (phase === "stopping") return <p class="quiet">{t.stopping}</p>;
  if (phase !== "waiting") return null;
  return (
    <p class="thinking">
      <span class="visually-hidden">{t.waiting}</span>
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
    </p>
  );
}

function Notes({ turn }: { turn: LiveTurn }) {
  const t = texts.value;
  const { degraded = [], completed = true, cut = null } = turn.result.value ?? {};
  const error = turn.error.value;
  const question = turn.asked.value.open;
  const retry = !turn.isFollowed && <PrimaryButton onClick={() => retryTurn(turn)}>{t.retry}</PrimaryButton>;
  return (
    <>
      <Progress turn={turn} />
      {question && <QuestionCard key={question.id} turn={turn} question={question} />}
      {degraded.length > 0 && (
        <p class="note warning" role="status">
          {t.chat.withoutLayers(degraded.map((layer) => t.layers[layer]).join(", "))}
        </p>
      )}
      {turn.notices.value.map((notice) => (
        <p key={notice.code} class="note" dir="auto">
          {t.context.notices[notice.code] ?? notice.message}
        </p>
      ))}
      {turn.compressed.value.map((event, index) => (
        <CompressedNote key={index} event={event} />
      ))}
      <AnswerNote completed={completed} cut={cut !== null} />
      {error?.code === STOPPED && (
        <div class="note">
          <p>{t.chat.stopped}</p>
          {retry}
        </div>
      )}
      {error && error.code !== STOPPED && (
        <ErrorNote error={error} title={t.chat.failed}>
          {error.retryable && retry}
        </ErrorNote>
      )}
    </>
  );
}

export function LiveExchange({ turn }: { turn: LiveTurn }) {
  const result = turn.result.value;
  const sources = result ? citedSources(result.answer, sourcesOf(result.receipt, turn.route.value)) : NO_SOURCES;
  return (
    <>
      {turn.body.message !== undefined && (
        <UserMessage
          stored={storedOf(turn, "user")}
          text={wordsOf(turn.body.message)}
          pictures={picturesOf(turn.body.message)}
          time={turn.sentAt}
        />
      )}
      <Answer
        turnId={turn.turnId.value}
        time={null}
        isBusy={!isOver(turn) && !isAsking(turn)}
        text={() => turn.text.value}
        sources={sources}
        stored={storedOf(turn, "assistant")}
        notes={
          <>
            <Notes turn={turn} />
            <Sources of={sources} />
          </>
        }
      >
        <Thoughts text={turn.thoughts.value} />
        <Plan items={turn.plan.value} />
        <Acts acts={turn.acts.value} of={isOver(turn) ? "over" : isAsking(turn) ? "asking" : "running"} />
        <Rejections of={turn.rejected.value} />
        <ClosedQuestions of={turn.asked.value.closed} />
        <Markdown of={turn} read={() => [turn.text.value, isOver(turn)]} sources={sources} />
      </Answer>
    </>
  );
}
