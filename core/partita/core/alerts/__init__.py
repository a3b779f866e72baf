"""Alerts: what went wrong and needs a person, told once per cause to whom it concerns.

`rules` says what the configuration means, `decide` what becomes of facts and notices (both pure); `raising`, `watching` and
`delivery` are the duties, `sending` the way out, `words` what people read, `people` what they do about it.
"""

from partita.core.alerts.delivery import Delivered, deliver
from partita.core.alerts.raising import Matchers, Raised, raise_alerts
from partita.core.alerts.rules import Routing
from partita.core.alerts.watching import watch_alerts

__all__ = ["Delivered", "Matchers", "Raised", "Routing", "deliver", "raise_alerts", "watch_alerts"]
