// What changed since a plan was shown: looked at before the new plan is launched. Nothing ran yet.
import { Link } from "@tanstack/react-router";
import type { PlanDifference } from "../api/types";
import { StateGlyph } from "../design/StateGlyph";
import { count, plural } from "../lib/format";
import { type AssetRows, assetRows, behind, differenceSentence } from "./difference";

type Props = { difference: PlanDifference; onWhole: () => void };

export function PlanChange({ difference, onWhole }: Props) {
  const assets = assetRows(difference);
  return (
    <div className="plan-main" data-testid="plan-change">
      <p className="plan-sentence">
        <strong>The plan changed since it was shown; nothing ran.</strong> {differenceSentence(difference)}
      </p>
      <p className="row">
        <span className="quiet">
          From plan <span className="mono">{difference.was.slice(0, 14)}</span> to{" "}
          <span className="mono">{difference.now.slice(0, 14)}</span>
        </span>
        <button type="button" className="btn small" data-testid="whole-plan" onClick={onWhole}>
          Show the whole new plan
        </button>
      </p>
      {assets.length > 0 && <Assets assets={assets} />}
      {behind(difference).map(({ title, rows }) => (
        <section key={title} className="section" data-testid="change-behind">
          <header>
            <h2>{title}</h2>
          </header>
          <table className="table">
            <tbody>
              {rows.map(({ name, text }) => (
                <tr key={`${name}${text}`}>
                  {name && <td className="key">{name}</td>}
                  <td colSpan={name ? 1 : 2}>{text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}

function Assets({ assets }: { assets: AssetRows[] }) {
  return (
    <section className="section">
      <header>
        <h2>{plural(assets.length, "asset")}</h2>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Asset</th>
            <th className="num">Cells</th>
            <th style={{ width: "60%" }}>What changed</th>
          </tr>
        </thead>
        {assets.map(({ key, note, rows }) => (
          <tbody key={key}>
            {note && <Row asset={key} first sign="" cells="" partitions="" text={note} state="stale" />}
            {rows.map((row, at) => (
              <Row
                key={`${row.sign}${row.text}`}
                asset={key}
                first={at === 0 && !note}
                sign={row.sign}
                cells={count(row.cells)}
                partitions={row.partitions}
                text={row.text}
                state={row.state}
              />
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

type RowProps = {
  asset: string;
  first: boolean;
  sign: string;
  cells: string;
  partitions: string;
  text: string;
  state: string;
};

function Row({ asset, first, sign, cells, partitions, text, state }: RowProps) {
  return (
    <tr data-testid="plan-changed" data-key={asset} data-sign={sign}>
      <td>
        {first && (
          <Link className="link key" to="/asset" search={{ key: asset }}>
            {asset}
          </Link>
        )}
        {partitions && <div className="plan-partitions">{partitions}</div>}
      </td>
      <td className="num">
        {sign}
        {cells}
      </td>
      <td>
        <span className="because">
          <StateGlyph state={state} />
          <span>{text}</span>
        </span>
      </td>
    </tr>
  );
}
