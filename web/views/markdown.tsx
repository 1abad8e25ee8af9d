import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { makeGrowingMarkdown } from "../markdown/growing-markdown.ts";

/** Markdown that follows the signals that `read` reads, without rendering a component. `read` gives the text and whether it is whole. */
export function Markdown({ of, read }: { of: unknown; read: () => [text: string, isWhole: boolean] }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const markdown = makeGrowingMarkdown(element.current);
    const stop = effect(() => markdown.show(...read()));
    return () => {
      stop();
      markdown.close();
    };
  }, [of]);
  return <div class="markdown" ref={element} />;
}
