import { copyFileSync, cpSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { DOCS_FILES } from "../server/openapi/openapi-routes.ts";
import { bundlePage } from "./bundle-page.ts";
import { bundleLibrary, bundleService } from "./bundle.ts";
import { writeEmptyDatabase } from "./empty-database.ts";
import { licenceTexts, toSbom } from "./shipped/describe.ts";
import { packagesOf } from "./shipped/packages.ts";

// What runs in production: a few files instead of 2,000 modules, and what they read.
for (const file of ["dist/chunks", "dist/types", ...globSync("dist/*.{js,map}")]) rmSync(file, { recursive: true, force: true });
mkdirSync("dist", { recursive: true });
const [, ...made] = await Promise.all([
  writeEmptyDatabase("dist/empty-database.tar.gz"),
  ...[bundleService({ write: true }), bundleLibrary({ write: true }), bundlePage({ write: false })],
]);
const inside = packagesOf(made);
writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licenceTexts(inside));
writeFileSync("dist/sbom.cdx.json", toSbom(inside));

for (const folder of ["cmaps", "standard_fonts"]) cpSync(`node_modules/pdfjs-dist/${folder}`, `dist/pdfjs/${folder}`, { recursive: true });
mkdirSync("dist/swagger-ui", { recursive: true });
for (const name of [...DOCS_FILES, "LICENSE", "NOTICE"]) copyFileSync(`node_modules/swagger-ui-dist/${name}`, `dist/swagger-ui/${name}`);
