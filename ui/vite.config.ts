import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The API is another process during development; in production it serves these files itself.
const api = process.env.PARTITA_API ?? "http://127.0.0.1:4400";

export default defineConfig({
  // Relative, so that the server can mount the page under any prefix: it sets <base>.
  base: "./",
  plugins: [react()],
  server: { port: 4300, strictPort: true, proxy: { "/api": { target: api, changeOrigin: false } } },
  build: {
    outDir: "partita/ui/static",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    chunkSizeWarningLimit: 400,
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
