import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Router, Request, Response } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { packageFile } from "../../errors/package-file.ts";
import { makeRouter, operationGroup, route } from "../http/operation.ts";
import { PAGE_POLICY } from "../http/web-security.ts";

const BUILT_PAGE = fileURLToPath(packageFile("dist/web"));

const CONTENT_TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

function notBuilt(cause?: unknown): AppError {
  return new AppError("not_found", "The page is not built. Run npm run build, then start the service again.", { cause });
}

type Encoding = "br" | "gzip" | "identity";

interface PageFile {
  contentType: string;
  byEncoding: Record<Encoding, Buffer>;
}

/** The files of the built page by their address. Throws when it is not built. */
function readPage(folder: string): Map<string, PageFile> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => CONTENT_TYPES[path.extname(name)] !== undefined);
  return new Map(
    files.map((name) => {
      const read = (suffix: string): Buffer => readFileSync(path.join(folder, name + suffix));
      const address = name === "index.html" ? "/" : `/${name.replaceAll(path.sep, "/")}`;
      const contentType = CONTENT_TYPES[path.extname(name)] ?? "";
      return [address, { contentType, byEncoding: { identity: read(""), br: read(".br"), gzip: read(".gz") } }];
    }),
  );
}

function send(request: Request, response: Response, { contentType, byEncoding }: PageFile): void {
  const encoding = (["br", "gzip"] as const).find((name) => request.acceptsEncodings(name)) ?? "identity";
  if (encoding !== "identity") response.set("content-encoding", encoding);
  response.set({ "content-type": contentType, vary: "accept-encoding", "x-content-type-options": "nosniff" });
  const content = byEncoding[encoding];
  response.set("content-length", String(content.length));
  response.end(request.method === "HEAD" ? undefined : content);
}

export const pageOperations = operationGroup({
  tag: "service",
  routes: {
    openPage: route("GET /", "The page to talk and to look inside", {
      answers: { 200: { what: "A page for browsers.", content: { "text/html": z.string() } } },
      errors: ["not_found", "misdirected_request"],
      isOpen: true,
    }),
    getPageAsset: route("GET /assets/:file", "What that page is made of", {
      params: { file: z.string() },
      answers: {
        200: {
          what: "A script, a style sheet or a text.",
          content: { "text/javascript": z.string(), "text/css": z.string(), "text/plain": z.string() },
        },
      },
      errors: ["not_found", "misdirected_request"],
      isOpen: true,
    }),
  },
});

/** The page at `/` and its files at `/assets`, from memory. They hold no user's data, so they need no key. */
export function pageRoutes(folder: string = BUILT_PAGE): Router {
  let page: Map<string, PageFile> | undefined;
  function fileAt(address: string): PageFile | undefined {
    try {
      page ??= readPage(folder);
    } catch (error) {
      throw notBuilt(error);
    }
    return page.get(address);
  }

  return makeRouter(pageOperations, {
    openPage(request, response) {
      const file = fileAt("/");
      if (!file) throw notBuilt();
      response.set({
        "content-security-policy": PAGE_POLICY,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
      });
      send(request, response, file);
    },
    getPageAsset(request, response, next) {
      const file = fileAt(`/assets/${String(request.params["file"])}`);
      if (!file) return next();
      response.set("cache-control", "public, max-age=31536000, immutable"); // new content has a new name
      send(request, response, file);
    },
  });
}
