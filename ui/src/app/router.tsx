// All routes and the search params each of them owns. Views load when first visited.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { BASE_PATH } from "../lib/base";
import { Frame } from "./Frame";
import { NotFound, RouteError } from "./NotFound";
import { only, parseSearch, stringifySearch } from "./search";

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: RouteError });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("../views/Home"), "Home"),
});
const assets = createRoute({
  getParentRoute: () => root,
  path: "/assets",
  validateSearch: only("search", "select", "state"),
  component: lazyRouteComponent(() => import("../views/Assets"), "Assets"),
});
const asset = createRoute({
  getParentRoute: () => root,
  path: "/asset",
  validateSearch: only("key", "sel", "cell", "lo", "hi", "year", "state", "as", "scheme"),
  component: lazyRouteComponent(() => import("../views/asset/Asset"), "Asset"),
});
const graph = createRoute({
  getParentRoute: () => root,
  path: "/graph",
  validateSearch: only("select", "focus", "depth", "node", "collapsed", "as"),
  component: lazyRouteComponent(() => import("../views/GraphView"), "GraphView"),
});
const plan = createRoute({
  getParentRoute: () => root,
  path: "/plan",
  validateSearch: only(
    "id",
    "selection",
    "partitions",
    "mode",
    "upstream",
    "downstream",
    "as",
    "params",
    "tags",
    "lane",
    "max_active",
    "reason",
    "was",
  ),
  component: lazyRouteComponent(() => import("../views/PlanPreview"), "PlanPreview"),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: only("state", "tag", "page"),
  component: lazyRouteComponent(() => import("../views/Runs"), "Runs"),
});
const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$runId",
  validateSearch: only("task", "attempt", "line", "state", "asset", "q", "level"),
  component: lazyRouteComponent(() => import("../views/run/Run"), "Run"),
});
const backfills = createRoute({
  getParentRoute: () => root,
  path: "/backfills",
  component: lazyRouteComponent(() => import("../views/Backfills"), "Backfills"),
});
const backfill = createRoute({
  getParentRoute: () => root,
  path: "/backfills/$backfillId",
  validateSearch: only("task", "attempt", "line", "q", "level", "state"),
  component: lazyRouteComponent(() => import("../views/backfill/BackfillPage"), "BackfillPage"),
});
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queue",
  component: lazyRouteComponent(() => import("../views/QueueView"), "QueueView"),
});
const automation = createRoute({
  getParentRoute: () => root,
  path: "/automation",
  validateSearch: only("show", "request", "job", "evaluator"),
  component: lazyRouteComponent(() => import("../views/AutomationView"), "AutomationView"),
});
const locations = createRoute({
  getParentRoute: () => root,
  path: "/locations",
  validateSearch: only("open"),
  component: lazyRouteComponent(() => import("../views/Locations"), "Locations"),
});
const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  component: lazyRouteComponent(() => import("../views/System"), "System"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: only("who", "action", "before"),
  component: lazyRouteComponent(() => import("../views/Audit"), "Audit"),
});

const alerts = createRoute({
  getParentRoute: () => root,
  path: "/alerts",
  validateSearch: only("state", "kind", "owner", "open"),
  component: lazyRouteComponent(() => import("../views/Alerts"), "Alerts"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    assets,
    asset,
    graph,
    plan,
    runs,
    run,
    backfills,
    backfill,
    queue,
    automation,
    locations,
    system,
    audit,
    alerts,
  ]),
  basepath: BASE_PATH || "/",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
