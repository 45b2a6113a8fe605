// Builds the explorer and the live charts into the Python package; the server reads the manifest to find the files.
import { defineConfig } from "vite";

export default defineConfig({
  base: "/static/dist/",
  build: {
    outDir: "../src/gossamer/web/static/dist",
    emptyOutDir: true,
    manifest: true,
    license: true, // licence notices of the bundled packages, which ship with ours
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the content security policy allows only files of this server
    rollupOptions: { input: ["src/graph.ts", "src/crawl.ts"] },
  },
});
