"""`python -m plumbline_command`: the command `plumbline`, if another package owns that name."""
from . import main

main()
