import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

// Not css: its property names weigh as much as a view of the page.
for (const [name, language] of Object.entries({ bash, go, java, javascript, json, python, rust, sql, typescript, xml, yaml }))
  hljs.registerLanguage(name, language);

/** Copies only texts and `span`s. */
function copyColours(from: Node): DocumentFragment {
  const to = new DocumentFragment();
  for (const node of from.childNodes) {
    if (!(node instanceof HTMLSpanElement)) {
      to.append(node.textContent ?? "");
      continue;
    }
    const span = document.createElement("span");
    span.className = node.className;
    span.append(copyColours(node));
    to.append(span);
  }
  return to;
}

/** The coloured code; null for an unknown language. */
export function highlight(code: string, language: string): DocumentFragment | null {
  if (!hljs.getLanguage(language)) return null;
  const { value } = hljs.highlight(code, { language, ignoreIllegals: true });
  return copyColours(new DOMParser().parseFromString(`<body>${value}`, "text/html").body);
}
