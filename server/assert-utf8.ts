import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../errors/app-error.ts";

/** Refuses a body whose bytes are no UTF-8; decoding would replace them in silence. A `verify` of express.json. */
export function assertUtf8(_request: IncomingMessage, _response: ServerResponse, body: Buffer): void {
  if (!isUtf8(body)) throw new AppError("invalid_request", "The body is not valid UTF-8. Send its text encoded as UTF-8.");
}
