import { useEffect, useState } from "preact/hooks";
import { loadQuestions } from "../../state/turns/questions.ts";
import { texts } from "../../texts/texts.ts";

const SECOND_MS = 1_000;

function asClock(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (count: number): string => String(count).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Screen readers read it only on demand. */
export function Countdown({ until }: { until: string }) {
  const t = texts.value.questions;
  const [now, setNow] = useState(Date.now());
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / SECOND_MS));
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (seconds === 0) void loadQuestions();
  }, [seconds === 0]);
  return (
    <span class={`countdown small${seconds <= 30 ? " is-short" : ""}`} role="timer" aria-live="off">
      {seconds === 0 ? t.timeIsUp : t.left(asClock(seconds))}
    </span>
  );
}
