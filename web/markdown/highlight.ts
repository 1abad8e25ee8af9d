import DOMPurify from "dompurify";
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

// Not css: the names of its properties weigh as much as a view of the page.
for (const [name, language] of Object.entries({ bash, go, java, javascript, json, python, rust, sql, typescript, xml, yaml }))
  hljs.registerLanguage(name, language);

/** The coloured code; null for a language that is not known. */
export function highlight(code: string, language: string): DocumentFragment | null {
  if (!hljs.getLanguage(language)) return null;
  const { value } = hljs.highlight(code, { language, ignoreIllegals: true });
  return DOMPurify.sanitize(value, { ALLOWED_TAGS: ["span", "#text"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true });
}
