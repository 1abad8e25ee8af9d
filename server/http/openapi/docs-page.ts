/** The page that shows /openapi.json. Everything it loads comes from this service. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>conversation-graph: the API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="description"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Starts it; a script in the page itself would be refused by DOCS_POLICY. */
export const START_SCRIPT = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#description", deepLinking: true, validatorUrl: null });
`;

/** The icons of the page are data: addresses in its style sheet; it calls this service only. */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
