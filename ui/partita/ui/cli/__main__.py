"""`python -m partita.ui.cli`: the command line of this interpreter's environment."""

from partita.ui.cli import main

main()
