// Builds the search box for other sites: one classic script without imports, because a page adds it as one `<script>`.
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  build: {
    outDir: "../src/gossamer/web/static/dist",
    emptyOutDir: false, // the explorer and the charts are built into the same directory
    target: "es2022",
    lib: { entry: "src/widget.ts", formats: ["iife"], name: "gossamerSearch", fileName: () => "widget.js" },
  },
});
