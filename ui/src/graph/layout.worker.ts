// Layout off the main thread. One message in, one message out, matched by id.
import { type LayoutInput, layout } from "./layout";

self.onmessage = (event: MessageEvent<{ id: number; input: LayoutInput }>) => {
  self.postMessage({ id: event.data.id, layout: layout(event.data.input) });
};
