-- What people say a run is for. Rows of their own: most runs have none.
CREATE TABLE run_tag (
    run_id bigint NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, name)
);
CREATE INDEX run_tag_value ON run_tag (name, value, run_id);
