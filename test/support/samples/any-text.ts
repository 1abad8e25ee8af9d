import fc from "fast-check";

export const anyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc
        .tuple(
          fc.constantFrom("a word ", "导演说", "😀", "é", "𠮷", "0123456789", "{}[]();", "\n", "\u202Eabc", "👨‍👩‍👧‍👦 ", "Слово ", "น้ำใจ", "दिन"),
          fc.nat({ max: 300 }),
        )
        .map(([piece, count]) => piece.repeat(count)),
      fc.string({ unit: "binary", maxLength: 40 }),
    ),
    { maxLength: 4 },
  )
  .map((pieces) => pieces.join(""));
