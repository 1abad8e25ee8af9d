import { readFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";

type Package = { dependencies?: Record<string, string>; devDependencies?: Record<string, string> };

interface LockFile {
  packages: Record<string, { version?: string; integrity?: string; dependencies?: Record<string, string> }>;
}

const read = async <File>(path: string): Promise<File> =>
  JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), "utf8")) as File;

describe("the peers that the service is measured against", () => {
  it("are named with exact versions, and the lock file holds exactly these", async () => {
    const { dependencies = {} } = await read<Package>("benchmarks/peers/package.json");
    const { packages } = await read<LockFile>("benchmarks/peers/package-lock.json");
    expect(Object.keys(dependencies).length).toBeGreaterThan(0);
    for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(packages[""]?.dependencies).toEqual(dependencies);
    for (const [name, version] of Object.entries(dependencies)) expect(packages[`node_modules/${name}`]).toMatchObject({ version });
  });

  it("are not dependencies of the project", async () => {
    const { dependencies, devDependencies } = await read<Package>("package.json");
    const own = Object.keys({ ...dependencies, ...devDependencies });
    expect(own.filter((name) => /^(@mastra|@voltagent)\/|^langchain$/.test(name))).toEqual([]);
    expect(Object.keys(dependencies ?? {}).filter((name) => /^@ai-sdk\/|^ai$/.test(name))).toEqual([]); // clients of the tests, too
  });
});
