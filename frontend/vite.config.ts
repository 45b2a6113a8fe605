// Builds the explorer and the live charts into the Python package; the server reads the manifest to find the files.
import { defineConfig } from "vite";

export default defineConfig({
  base: "/static/dist/",
  build: {
    outDir: "../src/gossamer/web/static/dist",
    emptyOutDir: true,
    manifest: true,
    license: true, // the notices of what is bundled, which goes into the package as well
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the content security policy allows files of this server only
    rollupOptions: { input: ["src/graph.ts", "src/crawl.ts"] },
  },
});
