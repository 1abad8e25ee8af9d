import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { place } from "../../state/route.ts";
import { conversationId, olderMessages, reloadThread, sessionId, threadError, threadIsLoading, turnsHere } from "../../state/thread.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { Markdown } from "../markdown.tsx";
import { Announcer } from "./announcer.tsx";
import { Answer } from "./answer.tsx";
import { LiveExchange } from "./live-exchange.tsx";
import { UserMessage } from "./user-message.tsx";

/** Messages that are shown at first, and how many more at a time. */
const PAGE = 60;
/** Who comes this near to the end again, in pixels, follows the answer again. */
const NEAR_END = 120;

/** Scrolling within this time after a wheel, a finger, a key or the mouse moved is somebody's own, in milliseconds. */
const BY_HAND_MS = 1_000;

const turnIdOf = ({ metadata }: Message): string | null => (typeof metadata["turn_id"] === "string" ? metadata["turn_id"] : null);

/** `isAnswered`: another message of the assistant follows, or may still come. */
function StoredMessage({ message, isAnswered }: { message: Message; isAnswered: boolean }) {
  const { id, role, content, created_at, completed } = message;
  if (role === "user") {
    return (
      <UserMessage id={`message-${id}`} text={content} time={created_at} unansweredTurn={isAnswered ? undefined : turnIdOf(message)} />
    );
  }
  return (
    <Answer
      id={`message-${id}`}
      turnId={turnIdOf(message)}
      time={created_at}
      text={() => content}
      notes={!completed && <p class="note">{texts.value.chat.incomplete}</p>}
    >
      <Markdown text={content} />
    </Answer>
  );
}

/** How many of the newest messages to show so that the one in the address is among them. */
function countFor(messages: readonly Message[], wanted: string | null): number {
  const index = messages.findIndex(({ id }) => id === wanted);
  return index === -1 ? PAGE : Math.max(PAGE, messages.length - index + 5);
}

/** The messages of the conversation, oldest first, and the turns that are under way. */
export function Thread() {
  const t = texts.value.chat;
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const lastTop = useRef(0);
  const movedAt = useRef(-BY_HAND_MS);
  const onMove = (): void => void (movedAt.current = performance.now());
  const [isAway, setIsAway] = useState(false);
  const [count, setCount] = useState(PAGE);
  const messages = olderMessages.value;
  const turns = turnsHere.value;
  const target = place.value.messageId;

  const toEnd = useCallback(() => {
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, []);
  useEffect(() => {
    if (!inner.current) return undefined;
    const growing = new ResizeObserver(() => follows.current && toEnd());
    growing.observe(inner.current);
    return () => growing.disconnect();
  }, []);
  /** Only somebody who scrolls up stops following; browsers scroll too, when a message turns out higher or lower than was guessed. */
  function onScroll(): void {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
    const isNearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (isNearEnd) follows.current = true;
    else if (scrollTop < lastTop.current && performance.now() - movedAt.current < BY_HAND_MS) follows.current = false;
    lastTop.current = scrollTop;
    setIsAway(!follows.current && !isNearEnd);
  }

  useEffect(() => setCount(countFor(messages, target)), [conversationId.value, target, messages]);
  useLayoutEffect(() => {
    const element = target === null ? null : document.getElementById(`message-${target}`);
    if (element) {
      follows.current = false;
      element.scrollIntoView({ block: "center" });
      element.focus();
    } else if (target === null) {
      follows.current = true;
      toEnd();
    }
  }, [sessionId.value, turns.length, messages, target, count]);

  const hidden = Math.max(0, messages.length - count);
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
        {threadError.value && (
          <ErrorNote error={threadError.value}>
            <button type="button" onClick={reloadThread}>
              {texts.value.retry}
            </button>
          </ErrorNote>
        )}
        {threadIsLoading.value && messages.length === 0 && <p class="quiet">{texts.value.loading}</p>}
        {!threadIsLoading.value && messages.length === 0 && turns.length === 0 && <p class="empty">{t.empty}</p>}
        {hidden > 0 && (
          <button type="button" onClick={() => setCount(count + PAGE)}>
            {t.earlier}
          </button>
        )}
        {messages.slice(hidden).map((message, index, shown) => (
          <StoredMessage key={message.id} message={message} isAnswered={shown[index + 1]?.role === "assistant"} />
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
