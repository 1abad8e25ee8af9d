import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { Package } from "../../scripts/shipped/packages.ts";

const run = promisify(execFile);
const cwd = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(`${cwd}${file}`, "utf8");
const manifest = JSON.parse(read("package.json")) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  bundled: string[];
  overrides: Record<string, string | Record<string, string>>;
};

/** In a process of its own: esbuild does not run within Jest. */
const LIST = `
  import { bundledPackages, installedPackages } from "./scripts/shipped/packages.ts";
  import { toSbom } from "./scripts/shipped/describe.ts";
  const bundled = await bundledPackages();
  console.log(JSON.stringify({ bundled, installed: installedPackages(), sbom: toSbom(bundled) }));`;

/** What https://cyclonedx.org/schema/bom-1.6.schema.json asks of the fields that are used, and no others. */
const licences = z.union([
  z.tuple([z.strictObject({ license: z.strictObject({ id: z.string().regex(/^[\w.+-]+$/) }) })]),
  z.tuple([z.strictObject({ expression: z.string().min(1) })]),
]);
const component = z.strictObject({
  type: z.enum(["application", "library"]),
  "bom-ref": z.string().min(1),
  name: z.string().min(1),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  purl: z.string().regex(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/),
  licenses: licences,
});
const billOfMaterials = z.strictObject({
  $schema: z.literal("http://cyclonedx.org/schema/bom-1.6.schema.json"),
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  version: z.int().min(1),
  metadata: z.strictObject({ component }),
  components: z.array(component),
});

describe("the package", () => {
  let bundled: Package[];
  let installed: Package[];
  let sbom: string;
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", LIST], { cwd, maxBuffer: 2 ** 24 });
    ({ bundled, installed, sbom } = JSON.parse(stdout) as { bundled: Package[]; installed: Package[]; sbom: string });
  }, 120_000);

  test('names in "bundled" of package.json the devDependencies that lie in dist/, and no tool', () => {
    const folders = new Set(bundled.map(({ folder }) => folder));
    expect(manifest.bundled).toEqual(Object.keys(manifest.devDependencies).filter((name) => folders.has(`node_modules/${name}`)));
  });

  test("installs with it its dependencies and what these bring, fewer than 30 packages", () => {
    const names = installed.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    expect(names).not.toEqual(expect.arrayContaining(["express"]));
    expect(names.length).toBeLessThan(30);
  });

  test("lists each bundled package once, with its address and licence, in a bill of materials of the form CycloneDX 1.6", () => {
    const { components } = billOfMaterials.parse(JSON.parse(sbom));
    const versions = new Set(bundled.map(({ name, version }) => `${name}@${version}`));
    expect(components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual([...versions].sort());
    expect(new Set(components.map((one) => one["bom-ref"])).size).toBe(components.length);
    expect(components.find(({ name }) => name === "@langchain/core")).toMatchObject({
      purl: `pkg:npm/%40langchain/core@${manifest.dependencies["@langchain/core"]}`,
      licenses: [{ license: { id: "MIT" } }],
    });
    expect(components.find(({ name }) => name === "pako")?.licenses).toEqual([{ expression: "(MIT AND Zlib)" }]);
  });

  test("gives the reason for each override in decision 22", () => {
    const decision = read("docs/decisions/0022-one-bundle.md");
    const named = Object.entries(manifest.overrides).flatMap(([name, inside]) =>
      typeof inside === "string" ? [name] : Object.keys(inside).map((inner) => (inner === "." ? name : inner)),
    );
    expect(named.filter((name) => !new RegExp(`^\\|.*\`${name}\``, "m").test(decision))).toEqual([]);
  });
});

describe("npm run audit:shipped", () => {
  /** The advisories of a registry, by package; null is a registry that has none to tell. */
  let advisories: Record<string, object[]> | null;
  const registry = createServer((request, response) => {
    request.resume();
    const told = request.method === "POST" && advisories !== null;
    response.writeHead(told ? 200 : 405, { "content-type": "application/json" }).end(told ? JSON.stringify(advisories) : "{}");
  });
  beforeAll(() => new Promise<void>((resolve) => void registry.listen(0, "127.0.0.1", resolve)));
  afterAll(() => new Promise((resolve) => registry.close(resolve)));

  const advisory = { id: 1, url: "https://example.org/1", title: "It lets anybody in", severity: "high", vulnerable_versions: "*" };
  const audit = (): Promise<{ code?: number; stdout: string; stderr: string }> => {
    const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/` };
    return run(process.execPath, ["scripts/shipped/audit.ts"], { cwd, env }).catch(
      (failure: { code: number; stdout: string; stderr: string }) => failure,
    );
  };

  test("fails and names a bundled and an installed package that have an advisory, and no package that only uses one", async () => {
    advisories = { express: [advisory], zod: [advisory] };
    const { code, stderr } = await audit();
    expect({ code, lines: stderr.trim().split("\n").sort() }).toEqual({
      code: 1,
      lines: ["node_modules/express", "node_modules/zod"].map((folder) => `${folder}: high, It lets anybody in, https://example.org/1`),
    });
  });

  test("passes over the advisory of a tool", async () => {
    advisories = { jest: [advisory] };
    const { code, stdout } = await audit();
    expect({ code, stdout }).toEqual({ code: undefined, stdout: expect.stringMatching(/^\d+ packages are shipped, 0 advisories\n$/) });
  });

  test("says that it was skipped when the registry shows no advisories", async () => {
    advisories = null;
    const { code, stdout } = await audit();
    expect({ code, stdout }).toEqual({ code: undefined, stdout: expect.stringMatching(/^skipped: the registry tells no advisories/) });
  });
});
