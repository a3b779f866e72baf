export function BackfillPage() {
  return null;
}
