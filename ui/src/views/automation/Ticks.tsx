// The next fire times of a cron, on the wall clock of its own zone; the days on which that clock changes are marked.
import { Icon } from "../../design/Icon";
import { useZone } from "../../lib/clock";
import { absolute, wall } from "../../lib/format";

type Props = { ticks: string[]; changes: string[]; tz: string | null };

export function Ticks({ ticks, changes, tz }: Props) {
  const zone = useZone();
  if (ticks.length === 0) return <span className="quiet">it fires no more</span>;
  return (
    <ol className="ticks" data-testid="ticks">
      {ticks.map((tick) => {
        const changed = changes.includes(tick);
        return (
          <li key={tick} data-changed={changed || undefined}>
            <time dateTime={tick} data-tip={absolute(tick, zone)}>
              {wall(tick, tz ?? "UTC")}
            </time>
            {changed && <ClockChange />}
          </li>
        );
      })}
    </ol>
  );
}

export function ClockChange() {
  return (
    <span
      className="tag clock-change"
      data-testid="clock-change"
      data-tip="The clocks change on this day: it is an hour longer or shorter than others"
    >
      <Icon name="auto" size={12} />
      clocks change
    </span>
  );
}
