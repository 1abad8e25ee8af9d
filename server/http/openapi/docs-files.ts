/** What the page takes from the package swagger-ui-dist; the build copies it. */
export const DOCS_FILES = ["swagger-ui.css", "swagger-ui-bundle.js"] as const;
