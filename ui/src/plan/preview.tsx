// From a request to the page of its plan; where it needs params first, to the form that asks for them.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { post, problemFrom } from "../api/client";
import type { Plan } from "../api/types";
import { Problem } from "../design/Feedback";
import { type PlanSearch, requestFrom } from "./request";

export function usePlanPreview() {
  const navigate = useNavigate();
  const preview = useMutation({
    mutationFn: (search: PlanSearch) => post<Plan>("/plans", requestFrom(search)),
    onSuccess: (plan, search) => navigate({ to: "/plan", search: { ...search, id: String(plan.id) } }),
    onError: (error, search) => {
      if (needsParams(error)) void navigate({ to: "/plan", search });
    },
  });
  const refused = preview.error && !needsParams(preview.error) ? <Problem error={preview.error} /> : null;
  return { preview: preview.mutate, pending: preview.isPending, refused };
}

/** A field of a params model has no default: nothing can be planned before somebody gives it. */
function needsParams(error: unknown): boolean {
  return problemFrom(error).fix?.includes("--param ") ?? false;
}
