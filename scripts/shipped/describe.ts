import { readdirSync, readFileSync } from "node:fs";
import type { Package } from "./packages.ts";

/** The licence texts of these packages, which must be handed on. */
export function licenceTexts(packages: Package[]): string {
  return packages
    .map(({ folder, name, version, license }) => {
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
      const texts = files.map((file) => readFileSync(`${folder}/${file}`, "utf8").trim());
      return [`=== ${name} ${version}, ${license}`, ...texts].join("\n\n");
    })
    .join("\n\n\n");
}

function toComponent({ name, version, license }: Omit<Package, "folder">) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const licenses = /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];
  return { type: "library", "bom-ref": purl, name, version, purl, licenses };
}

/** CycloneDX 1.6 without serial number and time, so that one tree makes one file: https://cyclonedx.org/docs/1.6/json */
export function toSbom(packages: Package[]): string {
  const own = JSON.parse(readFileSync("package.json", "utf8")) as Omit<Package, "folder">;
  const components = new Map(packages.map(toComponent).map((component) => [component.purl, component]));
  const sbom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...toComponent(own), type: "application" } },
    components: [...components.values()],
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}
