import { describe, expect, test } from "@jest/globals";
import { curlHint } from "../../../server/start/run-service.ts";

describe("curlHint", () => {
  test("is one line that streams a turn from the service's address", () => {
    expect(curlHint("http://127.0.0.1:8000", false)).toBe(
      `curl -N http://127.0.0.1:8000/api/v1/chat/stream -H 'content-type: application/json' -d '{"user_id":"ada","session_id":"first","message":"Hello!"}'`,
    );
  });

  test("asks for a key when one is needed, and names an address that can be reached", () => {
    expect(curlHint("http://0.0.0.0:8000", true)).toMatch(/^curl -N http:\/\/127\.0\.0\.1:8000\S* .*-H 'authorization: Bearer YOUR_KEY'/);
    expect(curlHint("http://[::]:8000", true)).toContain("http://[::1]:8000");
  });
});
