// The one place that talks HTTP. Refusals of the API arrive as ApiError with what, rule and fix; nothing is swallowed.
import { BASE_PATH } from "../lib/base";
import type { ApiProblem } from "./types";

const BASE = `${BASE_PATH}/api/v1`;

export class ApiError extends Error {
  readonly status: number;
  readonly problem: ApiProblem;
  /** The whole answer, for refusals that say more than the problem. */
  readonly body: unknown;

  constructor(status: number, problem: ApiProblem, body: unknown = null) {
    super(problem.what);
    this.body = body;
    this.name = "ApiError";
    this.status = status;
    this.problem = problem;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function url(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) params.set(name, String(value));
  }
  const text = params.toString();
  return `${BASE}${path}${text ? `?${text}` : ""}`;
}

async function refusalOf(response: Response, path: string): Promise<ApiError> {
  try {
    const body = await response.json();
    if (body?.error?.what) return new ApiError(response.status, body.error, body);
    if (body?.detail) {
      const text = typeof body.detail === "string" ? body.detail : JSON.stringify(body.detail);
      return new ApiError(response.status, { what: text, rule: null, fix: null }, body);
    }
  } catch {
    // Not JSON: a proxy or a crashed server answered. The status is all there is to say.
  }
  return new ApiError(response.status, {
    what: `The API answered ${response.status} to ${path}.`,
    rule: null,
    fix: response.status >= 500 ? "Read the log of the partita api process, then retry." : null,
  });
}

async function send<T>(method: string, path: string, query?: Query, body?: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url(path, query), {
      method,
      signal,
      headers: body === undefined ? undefined : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, {
      what: "The API cannot be reached.",
      rule: null,
      fix: "Check that `partita dev` or `partita api` is running, then retry.",
    });
  }
  if (!response.ok) throw await refusalOf(response, path);
  return (await response.json()) as T;
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal) =>
  send<T>("GET", path, query, undefined, signal);
export const post = <T>(path: string, body: unknown = {}) => send<T>("POST", path, undefined, body);

export const del = <T>(path: string, body: unknown) => send<T>("DELETE", path, undefined, body);

export function problemFrom(error: unknown): ApiProblem {
  if (error instanceof ApiError) return error.problem;
  if (error instanceof Error) return { what: error.message, rule: null, fix: null };
  return { what: String(error), rule: null, fix: null };
}
