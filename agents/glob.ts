const MCP = "mcp__";

/** The server and tool of `mcp__SERVER__TOOL`; a server's name neither begins nor ends with `_`, nor holds `__`. */
function partsOf(name: string): [server: string, tool: string] | null {
  const at = name.startsWith(MCP) ? name.indexOf("__", MCP.length + 1) : -1;
  return at < 0 ? null : [name.slice(MCP.length, at), name.slice(at + 2)];
}

/** The part of a pattern that names MCP servers. */
export const serverPartOf = (pattern: string): string | undefined => partsOf(pattern)?.[0];

/** Whether a name matches a pattern in which `*` stands for any characters. The server and tool of `mcp__SERVER__TOOL` match separately. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = partsOf(pattern);
  if (!parts) return matchesText(pattern, name);
  const named = partsOf(name);
  return named !== null && matchesText(parts[0], named[0]) && matchesText(parts[1], named[1]);
}

/** Linear: searches each part once, from left to right. */
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
