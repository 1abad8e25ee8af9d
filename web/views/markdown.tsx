import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { addCopyButtons, codeToCopy, colourCode } from "../markdown/finish-code.ts";
import { makeGrowingMarkdown } from "../markdown/growing-markdown.ts";
import { linkCitations } from "../markdown/link-citations.ts";
import { nameOf, type Source } from "../state/page/sources.ts";
import { openSource } from "../state/page/side-panel.ts";
import { texts } from "../texts/texts.ts";

interface MarkdownProps {
  of: unknown;
  read: () => [text: string, isWhole: boolean];
  /** What its numbers in brackets cite. */
  sources?: readonly Source[];
}

const NONE: readonly Source[] = [];

/** Markdown that follows the signals that `read` reads, without rendering a component. */
export function Markdown({ of, read, sources = NONE }: MarkdownProps) {
  const element = useRef<HTMLDivElement>(null);
  const key = sources.map(({ number, passageId }) => `${number} ${passageId}`).join();

  useEffect(() => {
    if (!element.current) return undefined;
    element.current.replaceChildren();
    const labels = new Map(sources.map((source) => [source.number, texts.value.chat.source(source.number, nameOf(source))]));
    const markdown = makeGrowingMarkdown(element.current, (shown, block) => {
      linkCitations(shown, labels);
      addCopyButtons(shown, texts.value.copy);
      if (block.type === "code") void colourCode(shown, (block as { lang?: string }).lang?.split(/\s/)[0]?.toLowerCase());
    });
    const stop = effect(() => markdown.show(...read()));
    return () => {
      stop();
      markdown.close();
    };
  }, [of, key]);

  function onClick({ target }: MouseEvent): void {
    const number = target instanceof Element ? target.closest<HTMLElement>("[data-cite]")?.dataset["cite"] : undefined;
    const source = sources.find((known) => String(known.number) === number);
    if (source) openSource(source);
    const code = codeToCopy(target);
    if (code !== null && target instanceof HTMLElement) {
      void navigator.clipboard.writeText(code).then(() => (target.textContent = texts.value.copied));
    }
  }
  return <div class="markdown" ref={element} onClick={onClick} />;
}
