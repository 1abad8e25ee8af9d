import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { AppError } from "../../errors/app-error.ts";
import { abortable } from "../../turn/deadlines.ts";
import type { Owner } from "../../turn/owner.ts";
import { makeMemoryServer, type MemoryServerParts } from "./memory-server.ts";

interface MessageFrom {
  owner: Owner;
  mayWrite: boolean;
  /** As the client names it. */
  protocolVersion: string | undefined;
  signal: AbortSignal;
}

/** The SDK requires them; the answer is always JSON. */
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/**
 * Answers one JSON-RPC message by a server of its own. Nothing is kept between two messages, so any process can answer the next. Throws
 * AppError `invalid_request` for other messages.
 */
export async function answerMessage(
  parts: MemoryServerParts,
  message: object,
  { owner, mayWrite, protocolVersion, signal }: MessageFrom,
): Promise<{ status: number; text: string }> {
  const server = makeMemoryServer(parts, owner, { mayWrite });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const version = protocolVersion === undefined ? {} : { "mcp-protocol-version": protocolVersion };
    const request = new Request("http://localhost/mcp", { method: "POST", headers: { ...HEADERS, ...version } });
    const answer = await abortable(() => transport.handleRequest(request, { parsedBody: message }), signal);
    const text = await answer.text();
    if (answer.status < 400) return { status: answer.status, text };
    const { error } = JSON.parse(text) as { error: { code: number; message: string } };
    throw AppError.invalid([
      error.code === (ErrorCode.ParseError as number)
        ? { field: "body", problem: "is no request, notification or answer of JSON-RPC" }
        : { field: "MCP-Protocol-Version", problem: error.message },
    ]);
  } finally {
    await server.close(); // stops what still runs for a client that left
  }
}
