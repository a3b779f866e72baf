"""How the example's assets are partitioned. All windows are local to New York: 10 March 2013 has 23 hours, 3 November 25."""

from partita.sdk import Daily, Hourly, Monthly, Static, Weekly

NEW_YORK = "America/New_York"

days = Daily("2013-01-01", end="2014-01-01", tz=NEW_YORK)  # end is exclusive
hours = Hourly("2013-01-01", end="2014-01-01", tz=NEW_YORK)
months = Monthly("2013-01-01", end="2014-01-01", tz=NEW_YORK)
weeks = Weekly("2013-01-07", end="2013-12-30", tz=NEW_YORK)  # the whole weeks of 2013, from Mondays
origins = Static("EWR", "JFK", "LGA")
carriers = Static("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
