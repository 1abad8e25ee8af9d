import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { CONFIG_VARIABLES, parseConfig } from "../../server/start/config.ts";

interface ComposeService {
  image?: string;
  build?: string;
  restart?: string;
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string | null>;
  healthcheck?: { test?: string[] };
  depends_on?: Record<string, { condition: string }>;
  profiles?: string[];
  configs?: { source: string; target: string }[];
  secrets?: string[];
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  configs: Record<string, { file: string }>;
  secrets: Record<string, { environment: string }>;
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

describe("the profile of monitoring", () => {
  const inProfile = Object.entries(compose.services).filter(([, { profiles }]) => profiles?.includes("monitoring"));

  test("brings Prometheus and Grafana, which nothing else starts", () => {
    expect(inProfile.map(([name]) => name)).toEqual(["prometheus", "grafana"]);
  });

  test("mounts files that are there and a key from the environment", () => {
    const mounted = inProfile.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
    expect(mounted.sort()).toEqual(Object.keys(compose.configs).sort());
    for (const { file } of Object.values(compose.configs)) expect(readFileSync(file, "utf8")).not.toBe("");
    expect(compose.services["prometheus"]?.secrets).toEqual(Object.keys(compose.secrets));
  });

  test("asks the service where it listens, with the key that Compose mounts", () => {
    const { scrape_configs } = parse(readFileSync("monitoring/prometheus.yml", "utf8")) as {
      scrape_configs: { authorization: { credentials_file: string }; static_configs: { targets: string[] }[] }[];
    };
    const port = compose.services["service"]?.environment?.["PORT"];
    expect(scrape_configs[0]?.static_configs[0]?.targets).toEqual([`service:${port}`]);
    expect(scrape_configs[0]?.authorization.credentials_file).toBe(`/run/secrets/${compose.services["prometheus"]?.secrets?.[0]}`);
  });

  test("gives Grafana the data source that the dashboard names, and the folder it lies in", () => {
    const { datasources } = parse(readFileSync("monitoring/grafana-datasource.yml", "utf8")) as {
      datasources: { uid: string; url: string }[];
    };
    const { providers } = parse(readFileSync("monitoring/grafana-dashboards.yml", "utf8")) as {
      providers: { options: { path: string } }[];
    };
    const dashboard = readFileSync("monitoring/grafana-dashboard.json", "utf8");
    const uids = new Set([...dashboard.matchAll(/"type": "prometheus",\s*"uid": "([^"]+)"/g)].map(([, uid]) => uid));
    expect([...uids]).toEqual(datasources.map(({ uid }) => uid));
    const { target } = compose.services["grafana"]?.configs?.find(({ source }) => source === "grafana-dashboard") ?? { target: "" };
    expect(target).toBe(`${providers[0]?.options.path}/conversation-graph.json`);
  });
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
