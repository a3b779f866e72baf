export function Asset() {
  return null;
}
