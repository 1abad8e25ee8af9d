import { expect, test, afterEach, beforeEach, describe, jest } from "@jest/globals";
import { millisecondsSince } from "../../turn/events.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import { startAnswerDeadlines, startDeadline } from "../../turn/deadlines.ts";
import fc from "fast-check";
import { measurePicture } from "../../turn/measure-picture.ts";
import { dataUrl, MOST_PICTURE_BYTES, pictureBytes, readPicture, wordsWithPictures } from "../../turn/picture.ts";
import { GIF, jpegHeader, png, pngUrl, WEBP_LOSSLESS, WEBP_LOSSY } from "../support/samples/sample-pictures.ts";

test("a time within a turn is given in milliseconds since its beginning, to a hundredth", () => {
  expect(millisecondsSince(1_000.5, 1_012.126)).toBe(11.63);
});

const TIMEOUTS = { firstTokenMs: 1_000, idleMs: 500 };
describe("the deadlines of an answer", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("end the answer when no token comes in time, and name the setting", () => {
    const { signal } = startAnswerDeadlines(TIMEOUTS, undefined);
    jest.advanceTimersByTime(999);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(signal.reason).toMatchObject({ code: "model_first_token_timeout", retryable: true });
    expect((signal.reason as AppError).message).toContain("MODEL_FIRST_TOKEN_TIMEOUT_MS");
  });

  test("leave an answer alone while tokens come, end it when they stop, and name the setting", () => {
    const { signal, tokenCame } = startAnswerDeadlines(TIMEOUTS, undefined);
    for (let count = 0; count < 100; count++) {
      tokenCame();
      jest.advanceTimersByTime(499);
    }
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(signal.reason).toMatchObject({ code: "model_stalled", retryable: true });
    expect((signal.reason as AppError).message).toContain("MODEL_IDLE_TIMEOUT_MS");
  });

  test.each([0, 1, 2])("leave no timer once they are cleared after %i tokens", (tokens) => {
    const deadlines = startAnswerDeadlines(TIMEOUTS, new AbortController().signal);
    for (let count = 0; count < tokens; count++) deadlines.tokenCame();
    deadlines.clear();
    expect(jest.getTimerCount()).toBe(0);
    expect(deadlines.signal.aborted).toBe(false);
  });

  test("end the answer with the caller's reason when the caller cancels, before it begins or later", () => {
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    const meanwhile = startAnswerDeadlines(TIMEOUTS, cancellation.signal);
    cancellation.abort(reason);
    expect(meanwhile.signal.reason).toBe(reason);
    expect(startAnswerDeadlines(TIMEOUTS, cancellation.signal).signal.reason).toBe(reason);
  });
});
describe("a deadline", () => {
  test("aborts when its time is over, like AbortSignal.timeout, unless it was disposed of before", async () => {
    const [ours, disposed, nodes] = [startDeadline(5), startDeadline(5), AbortSignal.timeout(5)];
    disposed[Symbol.dispose]();
    expect(ours.isOver()).toBe(false);
    await sleep(30);
    expect(ours.isOver()).toBe(true);
    const [one, other] = [ours.signal.reason as DOMException, nodes.reason as DOMException];
    expect([one.name, one.message, one.code]).toEqual([other.name, other.message, other.code]);
    expect([disposed.signal.aborted, disposed.isOver()]).toEqual([false, false]);
  });

  test("aborts also when somebody cancels, and this does not count as its time", () => {
    const cancelling = new AbortController();
    using deadline = startDeadline(60_000, cancelling.signal);
    cancelling.abort(new Error("stopped"));
    expect(deadline.signal.reason).toEqual(new Error("stopped"));
    expect(deadline.isOver()).toBe(false);
  });
});

const extendedWebp = Buffer.concat([
  Buffer.from("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0", "latin1"),
  Buffer.from([0x1f, 0x03, 0x00, 0x57, 0x02, 0x00]), // 800 by 600, each less one
]);
describe("measurePicture", () => {
  test.each([
    ["PNG", png(300, 200), "image/png", 300, 200],
    ["JPEG", jpegHeader(4032, 3024), "image/jpeg", 4032, 3024],
    ["GIF", GIF, "image/gif", 1, 1],
    ["lossy WebP", WEBP_LOSSY, "image/webp", 1, 1],
    ["lossless WebP", WEBP_LOSSLESS, "image/webp", 1, 1],
    ["extended WebP", extendedWebp, "image/webp", 800, 600],
  ])("reads the type and the size of a %s from its bytes", (_name, bytes, mediaType, width, height) => {
    expect(measurePicture(bytes)).toEqual({ mediaType, width, height });
  });

  test.each([
    ["SVG, which can hold scripts", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>')],
    ["a page", Buffer.from("<!doctype html><script>alert(1)</script>")],
    ["BMP", Buffer.from("BM00000000000000000000000000000000")],
    ["nothing", Buffer.alloc(0)],
    ["PNG without a size", png(3, 2).fill(0, 16, 24)],
    ["PNG of a size that nobody has", png(3, 2).fill(0xff, 16, 24)],
    ["a JPEG that ends before its frame", jpegHeader(9, 9).subarray(0, 12)],
  ])("finds no picture in %s", (_name, bytes) => expect(measurePicture(bytes)).toBeNull());

  test("throws no error for any bytes, even for pictures that are cut anywhere", () => {
    const pictures = [png(9, 9), jpegHeader(9, 9), GIF, WEBP_LOSSY, WEBP_LOSSLESS, extendedWebp];
    const cut = fc.tuple(fc.constantFrom(...pictures), fc.nat(60), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(cut, ([picture, length, tail]) => {
        const measured = measurePicture(Buffer.concat([picture.subarray(0, length), tail]));
        if (measured) expect(Math.min(measured.width, measured.height)).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
describe("a picture's address", () => {
  test("that holds the bytes has the type that they show, whatever it says, and gives them back unchanged", () => {
    const bytes = png(30, 20);
    const read = readPicture(dataUrl("text/html", bytes), "low");
    const file = { hash: expect.stringMatching(/^[\w-]{43}$/), mediaType: "image/png", width: 30, height: 20, byteCount: bytes.length };
    expect(read).toEqual({ url: dataUrl("image/png", bytes), detail: "low", file });
    expect("url" in read && pictureBytes(read).equals(bytes)).toBe(true);
  });

  test("with https is kept as it is, and nothing is known of its picture", () => {
    expect(readPicture("https://example.org/图.png?a=1")).toEqual({
      url: "https://example.org/%E5%9B%BE.png?a=1",
      detail: null,
      file: null,
    });
  });

  test.each([
    ["http://example.org/cat.png", /https:, or data:/],
    ["file:///etc/passwd", /https:, or data:/],
    ["javascript:alert(1)", /https:, or data:/],
    ["cat.png", /https:, or data:/],
    ["", /https:, or data:/],
    ["https://user:secret@example.org/", /password/],
    [`https://example.org/${"a".repeat(9_000)}`, /8192 characters/],
    ["data:image/png,abc", /in base64/],
    ["data:image/png;base64,", /not base64/],
    ["data:image/png;base64,****", /not base64/],
    [dataUrl("image/png", Buffer.from("<script>alert(1)</script>")), /known are PNG, JPEG, WEBP, GIF/],
  ])("is refused with a reason when it is %.40s", (url, problem) => {
    expect(readPicture(url)).toEqual({ problem: expect.stringMatching(problem), isTooLarge: false });
  });

  test("is too large when it holds more than 10 MiB", () => {
    expect(readPicture(pngUrl(2, 2, { padding: MOST_PICTURE_BYTES }))).toMatchObject({ isTooLarge: true });
  });
});
test.each([
  ["look", 0, "look"],
  ["look", 1, "look\n[picture 图片]"],
  ["", 3, "[3 pictures 图片]"],
])("the words %j with %d pictures become the text %j", (words, count, expected) => {
  expect(wordsWithPictures(words, count)).toBe(expected);
});
