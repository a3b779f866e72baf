export function Assets() {
  return null;
}
