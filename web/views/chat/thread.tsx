import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { toActs } from "../../state/turns/acts.ts";
import { toClosedQuestions } from "../../state/turns/asked.ts";
import { attachmentsOf } from "../../state/thread/message-parts.ts";
import { place } from "../../state/page/route.ts";
import { sourcesIn } from "../../state/page/sources.ts";
import { loadEarlier } from "../../state/thread/stored-messages.ts";
import {
  conversationId,
  olderMessages,
  reloadThread,
  sessionId,
  threadError,
  threadIsLoading,
  turnsHere,
} from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { RetryNote } from "../loaded.tsx";
import { Markdown } from "../markdown.tsx";
import { ClosedQuestions } from "../questions/closed-questions.tsx";
import { Acts } from "./acts.tsx";
import { Announcer } from "./announcer.tsx";
import { Answer, AnswerNote } from "./answer.tsx";
import { Earlier, type KeptPlace, placeOfFirst, restorePlace } from "./earlier.tsx";
import { ForkedFrom } from "./forked-from.tsx";
import { LiveExchange } from "./live-exchange.tsx";
import { Sources } from "./sources.tsx";
import { UserMessage } from "./user-message.tsx";
import { Welcome } from "./welcome.tsx";

/** Pixels from the end where the thread follows the answer, and from the beginning where earlier messages load. */
const NEAR_END = 120;
const NEAR_START = 400;
/** Scrolling within this time after an input event comes from the user. */
const BY_HAND_MS = 1_000;

const turnIdOf = ({ metadata }: Message): string | null => (typeof metadata["turn_id"] === "string" ? metadata["turn_id"] : null);

function StoredMessage({ message, isAnswered }: { message: Message; isAnswered: boolean }) {
  const { role, content, created_at, completed, metadata } = message;
  if (role === "user") {
    return (
      <UserMessage
        stored={message}
        text={content}
        pictures={attachmentsOf(message)}
        time={created_at}
        unansweredTurn={isAnswered ? undefined : turnIdOf(message)}
      />
    );
  }
  const sources = sourcesIn(metadata);
  return (
    <Answer
      stored={message}
      turnId={turnIdOf(message)}
      time={created_at}
      text={() => content}
      sources={sources}
      notes={
        <>
          <AnswerNote completed={completed} cut={metadata["cut"] === "length"} />
          {metadata["remember"] === false && <p class="quiet small">{texts.value.chat.notRemembered}</p>}
          <Sources of={sources} />
        </>
      }
    >
      <Acts acts={toActs(message.steps ?? [])} of="over" />
      <ClosedQuestions of={toClosedQuestions(message.steps ?? [])} />
      <Markdown of={content} read={() => [content, true]} sources={sources} />
    </Answer>
  );
}

/** The stored messages, oldest first, then the turns of this tab. */
export function Thread() {
  const t = texts.value.chat;
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const lastTop = useRef(0);
  const movedAt = useRef(-BY_HAND_MS);
  const [isAway, setIsAway] = useState(false);
  const kept = useRef<KeptPlace | null>(null);
  const arrivedAt = useRef<unknown>(null);
  const turnCount = useRef(0);
  const messages = olderMessages.value;
  const turns = turnsHere.value;
  const isAnsweredAnew = turns[0]?.body.regenerate !== undefined;
  const target = place.value.messageId;

  const toEnd = useCallback(() => {
    // What is shown instead of messages is read from its beginning.
    if (scroller.current?.querySelector("article")) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, []);
  useEffect(() => {
    if (!inner.current || !scroller.current) return undefined;
    // The messages grow; the room for them shrinks too, under the context gauge and a phone's keyboard.
    const resized = new ResizeObserver(() => follows.current && toEnd());
    resized.observe(inner.current);
    resized.observe(scroller.current);
    return () => resized.disconnect();
  }, []);
  function showEarlier(takesFocus: boolean): void {
    if (conversationId.value === null) return;
    void loadEarlier(conversationId.value, () => {
      follows.current = false;
      kept.current = inner.current && placeOfFirst(inner.current, takesFocus);
    });
  }
  function isAtEnd(): boolean {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
    return scrollHeight - scrollTop - clientHeight < NEAR_END;
  }
  /** What assistive technology has scrolled to stays where it is once it is pressed. */
  function onMove(): void {
    movedAt.current = performance.now();
    if (!isAtEnd()) follows.current = false;
  }
  /** Only the user stops following; browsers scroll too, after a wrong guess of a height. */
  function onScroll(): void {
    const { scrollTop = 0 } = scroller.current ?? {};
    const isNearEnd = isAtEnd();
    if (isNearEnd) follows.current = true;
    else if (scrollTop < lastTop.current && performance.now() - movedAt.current < BY_HAND_MS) {
      follows.current = false;
      if (scrollTop < NEAR_START && !document.activeElement?.matches("button.earlier")) showEarlier(false);
    }
    lastTop.current = scrollTop;
    setIsAway(!follows.current && !isNearEnd);
  }

  useLayoutEffect(() => {
    const isSent = turns.length > turnCount.current;
    turnCount.current = turns.length;
    if (kept.current && scroller.current) {
      restorePlace(scroller.current, kept.current);
      kept.current = null;
      return;
    }
    const element = target === null ? null : document.getElementById(`message-${target}`);
    if (element && arrivedAt.current !== place.value) {
      arrivedAt.current = place.value;
      follows.current = false;
      element.scrollIntoView({ block: "center" });
      element.focus();
    } else if (target === null || isSent) {
      follows.current = true;
      toEnd();
    }
  }, [sessionId.value, turns.length, messages, place.value]);

  return (
    <div
      class="thread"
      ref={scroller}
      onScroll={onScroll}
      onWheel={onMove}
      onTouchMove={onMove}
      onKeyDown={onMove}
      onPointerDown={onMove}
      tabIndex={0}
      role="region"
      aria-label={texts.value.views.chat}
    >
      <div class="thread-inner" ref={inner}>
        {threadError.value &&
          (threadError.value.status === 404 ? (
            <ErrorNote error={threadError.value} />
          ) : (
            <RetryNote error={threadError.value} onRetry={reloadThread} />
          ))}
        {threadIsLoading.value && messages.length === 0 && <p class="quiet">{texts.value.loading}</p>}
        {!threadIsLoading.value && messages.length === 0 && turns.length === 0 && <Welcome />}
        <ForkedFrom />
        <Earlier isSeeking={target !== null} onShow={showEarlier} />
        {messages.map((message, index) => (
          <StoredMessage
            key={message.id}
            message={message}
            isAnswered={(messages[index + 1]?.role ?? (isAnsweredAnew ? "assistant" : "user")) === "assistant"}
          />
        ))}
        {turns.map((turn) => (
          <LiveExchange key={turn.idempotencyKey} turn={turn} />
        ))}
      </div>
      {isAway && (
        <button type="button" class="to-end" onClick={toEnd}>
          ↓ <span class="visually-hidden">{t.toEnd}</span>
        </button>
      )}
      <Announcer />
    </div>
  );
}
