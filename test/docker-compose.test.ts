import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { CONFIG_VARIABLES, parseConfig } from "../server/config.ts";

interface ComposeService {
  image?: string;
  build?: string;
  restart?: string;
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string | null>;
  healthcheck?: { test?: string[] };
  depends_on?: Record<string, { condition: string }>;
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
}

const compose = parse(readFileSync("docker-compose.yml", "utf8")) as ComposeFile;

/** A version with at least a minor number, or a dated release. */
const PINNED = /:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$|:RELEASE\.\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

describe.each(Object.entries(compose.services))("the container %s", (_name, container) => {
  test("has an image of one version, or is built here", () => {
    if (container.build === undefined) expect(container.image).toMatch(PINNED);
    else expect(container).toMatchObject({ build: "." });
  });

  test("has a health check and starts again after a failure", () => {
    expect(container.healthcheck?.test).toEqual(expect.arrayContaining([expect.stringMatching(/^CMD/)]));
    expect(container.restart).toBe("unless-stopped");
  });

  test("can be reached from this machine only", () => {
    for (const port of container.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test("waits for containers that exist to be healthy", () => {
    for (const [other, { condition }] of Object.entries(container.depends_on ?? {})) {
      expect(Object.keys(compose.services)).toContain(other);
      expect(condition).toBe("service_healthy");
    }
  });

  test("keeps its data in declared volumes", () => {
    for (const volume of container.volumes ?? []) expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0]);
  });
});

test("every declared volume is used", () => {
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(":")[0]));
  expect(used.sort()).toEqual(Object.keys(compose.volumes).sort());
});

describe("the environment of the service", () => {
  const environment = compose.services["service"]?.environment ?? {};

  /** As Compose fills it in when nothing but API_KEYS is set. */
  const filledIn = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value?.replaceAll(/\$\{API_KEYS:\?[^}]*\}/g, "some-long-secret:acme").replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1"),
    ]),
  );

  test("holds every variable that the configuration reads, set or passed through, and no unknown one", () => {
    const known = Object.keys(environment).filter((name) => !name.startsWith("MILVUS_"));
    expect(known.sort()).toEqual(CONFIG_VARIABLES.filter((name) => !name.startsWith("MILVUS_")).sort());
  });

  test("is a valid configuration with the default passwords", () => {
    expect(parseConfig(filledIn)).toMatchObject({
      HOST: "0.0.0.0",
      DATABASE_URL: "postgres://conversation_graph:conversation_graph@postgres:5432/conversation_graph",
    });
  });

  test("demands API_KEYS and says how to set it", () => {
    expect(environment["API_KEYS"]).toMatch(/^\$\{API_KEYS:\?.*API_KEYS=\S+:\S+\}$/);
  });
});

test("the image has the Node that package.json brings", () => {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: Record<string, string> };
  const images = [...readFileSync("Dockerfile", "utf8").matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(images)).toEqual(new Set([`node:${dependencies["node"]}-bookworm-slim`]));
});
