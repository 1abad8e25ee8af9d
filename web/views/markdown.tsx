import { effect, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { makeGrowingMarkdown } from "../markdown/growing-markdown.ts";

/** A text that does not change any more. */
export function Markdown({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const markdown = makeGrowingMarkdown(element.current);
    markdown.show(text, true);
    return () => markdown.close();
  }, [text]);
  return <div class="markdown" ref={element} />;
}

interface StreamingProps {
  text: Signal<string>;
  isOver: () => boolean;
}

/** A text that grows: it is written to the page without rendering any component. */
export function StreamingMarkdown({ text, isOver }: StreamingProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const markdown = makeGrowingMarkdown(element.current);
    const stop = effect(() => markdown.show(text.value, isOver()));
    return () => {
      stop();
      markdown.close();
    };
  }, [text]);
  return <div class="markdown" ref={element} />;
}
