import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import { AppError } from "../../../errors/app-error.ts";
import { buildDescription, type DescribedLimits } from "./build-description.ts";
import { DOCS_FILES } from "./docs-files.ts";
import { DOCS_PAGE, DOCS_POLICY, START_SCRIPT } from "./docs-page.ts";

/** Beside this module once it is built; the sources use what the build made. */
const BUILT_FILES = import.meta.url.endsWith(".ts") ? "../../../dist/server/http/openapi/swagger-ui/" : "./swagger-ui/";
const FILES_FOLDER = fileURLToPath(new URL(BUILT_FILES, import.meta.url));

/** `GET /openapi.json`, written on the first request, and `GET /docs`, the page to read it. */
export function openApiRoutes(limits: DescribedLimits, filesFolder = FILES_FOLDER): Router {
  let description: string | undefined;
  const isBuilt = (): boolean => DOCS_FILES.every((name) => existsSync(join(filesFolder, name)));

  return Router()
    .get("/openapi.json", (_request, response) => {
      description ??= JSON.stringify(buildDescription(limits));
      response.type("application/json").send(description);
    })
    .get("/docs", (_request, response) => {
      if (!isBuilt()) {
        throw new AppError("not_found", "The page has not been built: run `npm run build`. GET /openapi.json is there without it.");
      }
      response.set("content-security-policy", DOCS_POLICY).type("text/html").send(DOCS_PAGE);
    })
    .get("/docs/:file", (request, response) => {
      const { file } = request.params;
      response.set("cache-control", "no-cache"); // nothing of anybody
      if (file === "start.js") {
        response.type("text/javascript").send(START_SCRIPT);
        return;
      }
      const name = DOCS_FILES.find((known) => known === file && existsSync(join(filesFolder, known)));
      if (!name) throw new AppError("not_found", `There is no ${request.path}.`);
      response.sendFile(name, { root: filesFolder });
    });
}
