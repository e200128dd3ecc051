import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

// `npm run dev` serves the sources and hands the API on to a controller on its usual port.
export default defineConfig({
  plugins: [preact()],
  build: {
    outDir: "built", // scripts/dashboard puts it into dist, file by file: a go build at the same time finds a whole one
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
});
