-- What automation asked for because of a run, by consumer (ADR 6, the limit): what one run leads to is counted together, however
-- many decisions it comes in.
CREATE TABLE caused_cells (
    run_id   bigint NOT NULL,             -- at the root of the cause
    asset_id bigint NOT NULL,             -- whose cells were asked for
    cells    integer NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),   -- when it was last added to
    PRIMARY KEY (run_id, asset_id)
) WITH (fillfactor = 85);
CREATE INDEX caused_cells_at ON caused_cells (at);
