import { TextSplitter } from "@langchain/textsplitters";
import { TEXT_PIECES } from "./text-pieces.ts";
import { textSize } from "./text-size.ts";

/**
 * LangChain's TextSplitter with pieces of our own. Its recursive splitter cuts surrogate pairs, code and Chinese sentences, knowing blanks
 * and single UTF-16 units only. Sizes are those of textSize. Pieces that fit are merged, with an overlap where they are small.
 */
export class DocumentSplitter extends TextSplitter {
  constructor({ size, overlap }: { size: number; overlap: number }) {
    super({ chunkSize: size, chunkOverlap: overlap, lengthFunction: textSize });
  }

  override async splitText(text: string): Promise<string[]> {
    return this.#split(text, 0);
  }

  async #split(text: string, level: number): Promise<string[]> {
    const chunks: string[] = [];
    let fitting: string[] = [];
    const merge = async (): Promise<void> => {
      chunks.push(...(await this.mergeSplits(fitting, "")));
      fitting = [];
    };
    for (const piece of TEXT_PIECES[level]?.(text) ?? [text]) {
      if (textSize(piece) <= this.chunkSize) {
        fitting.push(piece);
      } else {
        await merge();
        chunks.push(...(await this.#split(piece, level + 1)));
      }
    }
    await merge();
    return chunks;
  }
}
