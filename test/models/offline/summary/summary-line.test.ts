import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readSummaryLine, writeSummaryLine } from "../../../../models/offline/summary-candidates.ts";

describe("a line of a summary", () => {
  test("names its speaker in the language of the summary", () => {
    expect(writeSummaryLine({ speaker: "user", sentence: "I live in Oslo." }, "english")).toBe("- User: I live in Oslo.");
    expect(writeSummaryLine({ speaker: "assistant", sentence: "It is 5." }, "english")).toBe("- Assistant: It is 5.");
    expect(writeSummaryLine({ speaker: "user", sentence: "我住在上海。" }, "chinese")).toBe("- 用户：我住在上海。");
    expect(writeSummaryLine({ speaker: "assistant", sentence: "是5。" }, "chinese")).toBe("- 助手：是5。");
  });

  test("is given as it is when nobody said it", () => {
    expect(writeSummaryLine({ speaker: null, sentence: "* Lives in Oslo." }, "english")).toBe("* Lives in Oslo.");
  });

  test("is no line of a speaker when it has another form", () => {
    for (const line of ["", "I live in Oslo.", "User: I live in Oslo.", "- Users: many", "- User:", "- User:  ", " - User: x"]) {
      expect(readSummaryLine(line)).toBeNull();
    }
  });

  test("property: what was written in either language is read again, only the first speaker counts", () => {
    const sentence = fc.constantFrom("I live in Oslo.", "- Assistant: no", "- 用户：是", "我住在上海。", "a: b", "<user>");
    fc.assert(
      fc.property(fc.constantFrom("user", "assistant"), sentence, fc.constantFrom("english", "chinese"), (speaker, said, language) => {
        expect(readSummaryLine(writeSummaryLine({ speaker, sentence: said }, language))).toEqual({ speaker, sentence: said });
      }),
    );
  });
});
