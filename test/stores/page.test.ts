import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { AppError } from "../../errors/app-error.ts";
import { decodeCursor, encodeCursor, toPage, type Cursor } from "../../stores/page.ts";

/** Times that both a JavaScript Date and Postgres hold exactly. */
const anyTime = fc.date({ min: new Date("0001-01-01T00:00:00.000Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true });
const anyCursor: fc.Arbitrary<Cursor> = fc.record({ createdAt: anyTime, id: fc.uuid() });

function refusalOf(text: string): unknown {
  try {
    return decodeCursor(text);
  } catch (error) {
    return error;
  }
}

const refusal = (): object => expect.objectContaining({ code: "invalid_request", details: [expect.objectContaining({ field: "after" })] });

describe("a cursor", () => {
  test("property: comes back from its text as it was, and needs no escaping in a URL", () => {
    const unchanged = fc.property(anyCursor, (cursor) => {
      const text = encodeCursor(cursor);
      expect(text).toMatch(/^[\w-]+$/);
      expect(decodeCursor(text)).toEqual(cursor);
    });
    fc.assert(unchanged);
  });

  test("property: any other text is refused with a problem of the field after", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => expect(refusalOf(text)).toEqual(refusal())));
  });

  test("property: a text with one character changed is refused, or is another whole cursor", () => {
    fc.assert(
      fc.property(anyCursor, fc.nat(), fc.constantFrom(..."aZ09-_=+/ é"), (cursor, place, character) => {
        const text = encodeCursor(cursor);
        const at = place % text.length;
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        const result = refusalOf(changed);
        if (result instanceof AppError) expect(result).toEqual(refusal());
        else expect(encodeCursor(result as Cursor)).toBe(changed);
      }),
    );
  });

  const hidden = (text: string): string => Buffer.from(text).toString("base64url");
  const id = "018f3a2e-7b1c-7c44-9d2e-5f0a1b2c3d4e";
  test.each([
    ["nothing", ""],
    ["a plain word", "garbage"],
    ["only a time", hidden("2024-01-31T12:00:00.000Z")],
    ["an id that is no UUID", hidden("2024-01-31T12:00:00.000Z 1; drop table messages")],
    ["a time that is none", hidden(`yesterday ${id}`)],
    ["another spelling of the time", hidden(`2024-01-31 ${id}`)],
    ["a third part", hidden(`2024-01-31T12:00:00.000Z ${id} more`)],
    ["padding", `${hidden(`2024-01-31T12:00:00.000Z ${id}`)}=`],
    ["a time before what Postgres knows", hidden(`-100000-01-01T00:00:00.000Z ${id}`)],
    ["a time far in the future", hidden(`+275760-09-13T00:00:00.000Z ${id}`)],
  ])("is not made of %s", (_name, text) => expect(refusalOf(text)).toEqual(refusal()));

  test("is refused with at most 80 characters of what was sent", () => {
    expect((refusalOf("x".repeat(100_000)) as AppError).message.length).toBeLessThan(250);
  });
});

describe("a page", () => {
  const rows = (count: number): Cursor[] =>
    Array.from({ length: count }, (_, index) => ({ createdAt: new Date(index), id: `018f3a2e-7b1c-7c44-9d2e-00000000000${index}` }));

  test("of one row more than asked for ends with the cursor of its last item", () => {
    const page = toPage(rows(4), 3);
    expect(page.items).toEqual(rows(3));
    expect(decodeCursor(page.next ?? "")).toEqual(rows(3)[2]);
  });

  test.each([0, 1, 3])("of %p rows when three were asked for is the last one", (count) => {
    expect(toPage(rows(count), 3)).toEqual({ items: rows(count), next: null });
  });
});
