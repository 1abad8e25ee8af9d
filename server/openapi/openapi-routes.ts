import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { PAGE_POLICY } from "../http/web-security.ts";
import { packageFile } from "../../errors/package-file.ts";
import { makeRouter, operationGroup, route } from "../http/operation.ts";

/** From swagger-ui-dist; the build copies them. */
export const DOCS_FILES = ["swagger-ui.css", "swagger-ui-bundle.js"] as const;

const DOCS_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>conversation-graph: the API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="description"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** PAGE_POLICY refuses a script inside the page. */
const START_SCRIPT = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#description", deepLinking: true, validatorUrl: null });
`;

const ApiDescription = z.looseObject({ openapi: z.string() });

export const descriptionOperations = operationGroup({
  tag: "service",
  schemas: { ApiDescription },
  routes: {
    getApiDescription: route("GET /openapi.json", "This description", { answer: ApiDescription, isOpen: true }),
    readApiDescription: route("GET /docs", "A page to read it", {
      answers: { 200: { what: "A page for browsers.", content: { "text/html": z.string() } } },
      errors: ["not_found"],
      isOpen: true,
    }),
    getDocsAsset: route("GET /docs/:file", "What the page is made of", {
      params: { file: z.string() },
      answers: { 200: { what: "A script or a style sheet.", content: { "text/javascript": z.string(), "text/css": z.string() } } },
      errors: ["not_found"],
      isOpen: true,
    }),
  },
});

const FILES_FOLDER = fileURLToPath(packageFile("dist/swagger-ui/"));

/** `filesFolder` holds DOCS_FILES. */
export function openApiRoutes(describe: () => z.infer<typeof ApiDescription>, filesFolder = FILES_FOLDER): Router {
  let description: Buffer | undefined;
  const isBuilt = (): boolean => DOCS_FILES.every((name) => existsSync(join(filesFolder, name)));

  return makeRouter(descriptionOperations, {
    getApiDescription(_request, response) {
      description ??= Buffer.from(JSON.stringify(describe()));
      response.type("application/json").end(description);
    },
    readApiDescription(_request, response) {
      if (!isBuilt()) {
        throw new AppError("not_found", "The page has not been built: run `npm run build`. GET /openapi.json is there without it.");
      }
      response.set("content-security-policy", PAGE_POLICY).type("text/html").send(DOCS_PAGE);
    },
    getDocsAsset(request, response) {
      const file = request.params["file"];
      response.set("cache-control", "no-cache");
      if (file === "start.js") {
        response.type("text/javascript").send(START_SCRIPT);
        return;
      }
      const name = DOCS_FILES.find((known) => known === file && existsSync(join(filesFolder, known)));
      if (!name) throw new AppError("not_found", `There is no ${request.path}.`);
      response.sendFile(name, { root: filesFolder });
    },
  });
}
