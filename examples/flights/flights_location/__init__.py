"""The code location `flights`: the flights that left New York in 2013. Its modules are listed as `flights_location.*`."""
