import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { hostileText } from "./fuzz-text.ts";

const HEADERS = [
  ..."if-match if-none-match idempotency-key last-event-id x-request-id traceparent tracestate range accept accept-encoding".split(" "),
  ..."accept-language x-task x-user-id x-session-id x-openwebui-user-id authorization origin cookie x-forwarded-for".split(" "),
  ..."x-forwarded-host x-http-method-override content-language te via date upgrade sec-fetch-site".split(" "),
];
const HEADER_VALUES = [
  ...'"3" W/"1" * "x" 1.1 999999999.999999999 -1.0 bytes=0- bytes=9-1,- text/event-stream ;;q http://[ null =;=;= websocket'.split(" "),
  ...["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "application/json;q=x", "gzip;q=0, *;q=0", "::1, , x"],
  ...["Bearer ", "Bearer a.b.c"],
];
const asHeader = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?");

export const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(...HEADERS),
  fc.oneof(
    fc.constantFrom(...HEADER_VALUES),
    hostileText.map(asHeader),
    fc.constantFrom(100, 3_000).map((length) => "x".repeat(length)),
  ),
  { maxKeys: 3 },
);

const ODD_TYPES = [
  ...["utf-16", "latin1", '"', "utf-7"].map((charset) => `application/json; charset=${charset}`),
  ..."text/plain application/x-www-form-urlencoded application/jsonx application/problem+json x / */*".split(" "),
  "multipart/form-data; boundary=x",
];
const BOMB = gzipSync(Buffer.alloc(3_000_000, " "));

export function sent(types: string[], texts: fc.Arbitrary<string>): fc.Arbitrary<{ headers: Record<string, string>; body: Buffer }> {
  const type = fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...types) }, { weight: 1, arbitrary: fc.constantFrom(...ODD_TYPES) });
  const plain = fc.tuple(type, texts).map(([name, text]) => ({ headers: { "content-type": name }, body: Buffer.from(text) }));
  const changed = fc.tuple(plain, fc.nat({ max: 1_000 }), fc.nat({ max: 7 })).map(([{ headers, body }, place, way]) => {
    const at = place % (body.length + 1);
    const encoded = (encoding: string, bytes: Buffer) => ({ headers: { ...headers, "content-encoding": encoding }, body: bytes });
    if (way === 0) return encoded("gzip", gzipSync(body));
    if (way === 1) return encoded("gzip", gzipSync(body).subarray(0, at));
    if (way === 2) return encoded("gzip", BOMB);
    if (way === 3) return encoded(["br", "deflate", "zstd", "gzip, gzip", "x", ""][place % 6] ?? "", body);
    if (way === 4) return { headers, body: body.subarray(0, at) };
    if (way === 5) return { headers, body: Buffer.concat([body.subarray(0, at), Buffer.from([0xff, 0xc0, 0xaf]), body.subarray(at)]) };
    if (way === 6) return { headers, body: Buffer.from(body.toString(), "utf16le") };
    return { headers, body: Buffer.concat([body, body]) };
  });
  return fc.oneof({ weight: 8, arbitrary: plain }, { weight: 1, arbitrary: changed });
}
