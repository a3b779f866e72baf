export function AutomationView() {
  return null;
}
