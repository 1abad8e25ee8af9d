import { execFile, type ChildProcess } from "node:child_process";
import { cpSync, globSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listContext, readImageSteps } from "./image-file.ts";
import { serve } from "./plain-environment.ts";
import { makeImageRoot, WITHOUT_RIGHTS, type ImageRoot } from "./image-root.ts";
import { freePort } from "../servers/free-port.ts";
import { succeeds } from "../support/wait-until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const steps = readImageSteps(`${root}Dockerfile`);
const titled = steps.map((step) => ({ ...step, title: `${step.keyword} ${step.text.slice(0, 60)}` }));

/**
 * The steps of the image, taken one by one in clean folders. Only Docker could tell whether the base image, layers, user and limits work.
 */
describe("the image", () => {
  let image: ImageRoot;
  let given: string[];
  let service: ChildProcess | undefined;
  beforeAll(async () => {
    given = await listContext(root);
    image = await makeImageRoot(root, given);
  });
  afterAll(async () => {
    service?.kill("SIGKILL");
    await image.remove();
  });

  const inImage = (keyword: string): string[] => image.stage().said.get(keyword)?.words ?? [];
  const listApp = (): string[] => globSync("**/*", { cwd: image.place("/app") }).sort();

  test("has the Node that package.json names as its base", () => {
    const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { devDependencies: Record<string, string> };
    const bases = steps.filter(({ keyword }) => keyword === "FROM").map(({ words }) => words[0]);
    expect(new Set(bases)).toEqual(new Set([`node:${devDependencies["node"]}-bookworm-slim`]));
  });

  test("is built from the sources alone", () => {
    expect(given).toEqual(expect.arrayContaining(["package.json", "package-lock.json", "server/main.ts", "web/index.html"]));
    const foreign = /^(\.|test\/|benchmarks\/|docs\/|examples\/|deploy\/|monitoring\/|node_modules\/|dist\/)|\.(md|log)$/;
    expect(given.filter((file) => foreign.test(file))).toEqual([]);
  });

  test.each(titled)("takes its step $title", (step) => image.take(step), 400_000);

  test("holds what was built and what that needs, and nothing else", () => {
    expect(readdirSync(image.stage().root).sort()).toEqual(["app", "data"]);
    expect(readdirSync(image.place("/app")).sort()).toEqual(["LICENSE", "dist", "node_modules", "package.json", "stores"]);
    expect(readdirSync(image.place("/data"))).toEqual([]);
    const files = globSync("**/*.*", { cwd: image.place("/app") });
    expect(files).toEqual(
      expect.arrayContaining(["dist/main.js.map", "dist/THIRD-PARTY-LICENSES.txt", "stores/postgres/migrations/0001_schema.sql"]),
    );
    expect(files.filter((file) => /\.(test|env|log)\b|(?<!\.d)\.ts$/.test(file))).toEqual([]);
    expect(readdirSync(image.place("/app/node_modules"))).toEqual(["@electric-sql"]);
  });

  test("serves as its user, is healthy, answers a turn, writes in its volume alone, and stops on its signal", async () => {
    const before = listApp();
    const port = String(await freePort());
    cpSync(`${root}examples/handlers.js`, image.place("/data/handlers.js")); // as a volume brings it
    const env = { ...image.environment(), PORT: port, API_KEYS: "some-long-secret:acme", KB_HANDLERS: image.place("/data/handlers.js") };
    const healthcheck = image.stage().said.get("HEALTHCHECK")?.text ?? "";
    const [check = "", ...checked] = JSON.parse(healthcheck.replace(/^.*?CMD /, "")) as string[];
    const isHealthy = () => succeeds(run(check, checked, { cwd: image.place("."), env }));
    expect(await isHealthy()).toBe(false);

    expect(inImage("USER")).toEqual(["node"]);
    const isUp = async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.ok === true;
    const served = { port, isUp, headers: { authorization: "Bearer some-long-secret" }, cwd: image.place("."), env };
    const { child, ended } = await serve(inImage("CMD"), { ...served, ...WITHOUT_RIGHTS });
    service = child;
    expect(await isHealthy()).toBe(true);
    const page = await fetch(`http://127.0.0.1:${port}/`);
    expect(await page.text()).toContain("<!doctype html>");

    child.kill(inImage("STOPSIGNAL")[0] as NodeJS.Signals);
    expect(await ended).toEqual([0, null]);
    expect(listApp()).toEqual(before);
    expect(readdirSync(image.place("/data"))).toContain("postgres");
  });
});
