export function Locations() {
  return null;
}
