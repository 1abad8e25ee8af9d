import type { RequestHandler } from "express";
import { AppError } from "../errors/app-error.ts";

/** Refuses a body that is not JSON; express.json would leave it unread and the route would see none. */
export const requireJson: RequestHandler = (request, _response, next) => {
  const isEmpty = request.get("content-length") === "0"; // as fetch sends a POST without a body
  if (!isEmpty && request.is("application/json") === false) {
    throw new AppError(
      "unsupported_media_type",
      `The body is "${request.get("content-type") ?? "of no type"}". Send JSON with the header content-type: application/json.`,
    );
  }
  next();
};
