// Starts the page: one query cache, one event stream, one router.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { ApiError } from "../api/client";
import { liveStatus, startLive } from "../api/live";
import { router } from "./router";
import "../design/tokens.css";
import "../design/base.css";
import "../design/controls.css";
import "../design/states.css";
import "./frame.css";

const POLL_WHEN_BROKEN_MS = 10_000;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal (4xx) stays one; only an unreachable or failing API is asked again.
      retry: (failures, error) =>
        failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      refetchInterval: () => (liveStatus().state === "broken" ? POLL_WHEN_BROKEN_MS : false),
    },
  },
});

startLive(client);

createRoot(document.getElementById("root")!).render(
  <QueryClientProvider client={client}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
);
