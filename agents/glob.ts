/** Of a tool of an MCP server; a server's name neither begins nor ends with `_`, nor holds `__`. */
const SERVER_AND_TOOL = /^mcp__(.+?)__(.*)$/s;

/** The part of a pattern that names MCP servers; undefined when it has none. */
export const serverPartOf = (pattern: string): string | undefined => SERVER_AND_TOOL.exec(pattern)?.[1];

/**
 * Whether a name matches a pattern in which `*` stands for any characters. A pattern `mcp__SERVER__TOOL` matches by parts: its server's never
 * reaches into the name of a tool, nor the other way round.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const [, ...parts] = SERVER_AND_TOOL.exec(pattern) ?? [];
  if (parts.length === 0) return matchesText(pattern, name);
  const [, ...named] = SERVER_AND_TOOL.exec(name) ?? [];
  return named.length > 0 && parts.every((part, index) => matchesText(part, named[index] ?? ""));
}

/** Linear: each part is looked for once, from left to right. */
function matchesText(pattern: string, text: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length >= at + last.length && text.endsWith(last);
}
