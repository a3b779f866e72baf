// Addresses that lead nowhere, and views that threw: both say what, and the way out.
import { Link } from "@tanstack/react-router";
import { Problem } from "../design/Feedback";

export function NotFound() {
  return (
    <div className="page">
      <header className="page-head">
        <h1>Nothing at this address</h1>
      </header>
      <div className="page-scroll">
        <p className="mid">
          No page has this path.{" "}
          <Link className="link" to="/assets">
            Open the asset list
          </Link>{" "}
          or press <kbd>Ctrl</kbd> <kbd>K</kbd> to search.
        </p>
      </div>
    </div>
  );
}

export function RouteError({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <div className="page">
      <header className="page-head">
        <h1>This view failed to draw</h1>
      </header>
      <div className="page-scroll">
        <Problem error={error} onRetry={reset} />
      </div>
    </div>
  );
}
