export function PlanPreview() {
  return null;
}
