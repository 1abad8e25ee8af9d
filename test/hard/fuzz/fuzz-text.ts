import fc from "fast-check";

export const PLACEHOLDERS = ["USER-PLACE", "CONVERSATION-PLACE", "MESSAGE-PLACE", "TURN-PLACE", "DOCUMENT-PLACE"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

const TRAPS = [
  ...["", " ", "\0", "a\0b", "\ud800", "x\udc00y", "\u202eabc\u202c", "\ufeff", "\u2028\u2029", "\u001b[31m", "🏳️‍🌈", "e\u0301"],
  ...["\r\nx-injected: 1", "data: {}\n\nid: 9\n\n", "'); drop table messages; --", "' or '1'='1", "$1 ${x} $& $$", "[object Object]"],
  ..."% %_% \\ ../../../../etc/passwd ..\\..\\ ((((((((((a+)+)+)+)+)+)+)+)+)+$ [ * {{7*7}} <script>alert(1)</script>".split(" "),
  ..."__proto__ constructor toString null undefined true NaN Infinity -0 -1 1e400 0x10 9007199254740993 99999999999999999999".split(" "),
];

const LENGTHS = [1, 40, 41, 64, 65, 100, 101, 199, 200, 201, 500, 501, 2_000, 2_001, 4_001];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TRAPS) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 30 }) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("x", "😀", "导", "\u0301", "%", "\ud83d"), fc.constantFrom(...LENGTHS))
      .map(([piece, count]) => piece.repeat(count)),
  },
);

export function percentEncode(text: string): string {
  const spelt = text.replace(/\p{Surrogate}/gu, "\u0001");
  const halves = text.match(/\p{Surrogate}/gu) ?? [];
  let half = 0;
  return [...Buffer.from(spelt)]
    .map((byte) => {
      if (byte === 1 && half < halves.length) {
        const unit = halves[half++]?.charCodeAt(0) ?? 0;
        return [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)].map(hex).join("");
      }
      return /[\w-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : hex(byte);
    })
    .join("");
}

const hex = (byte: number): string => `%${byte.toString(16).padStart(2, "0")}`;

export const brokenEncoding: fc.Arbitrary<string> = fc.constantFrom(
  ..."% %z1 %ff %c0%af %u0041 %00 %ed%a0%80 ..%2f..%2fetc%2fpasswd %2e%2e a%2500b ;x=1 + \xff\xfe".split(" "),
);
