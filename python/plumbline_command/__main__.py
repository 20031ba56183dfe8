"""`python -m plumbline_command`: the command `plumbline` where another package has that name."""
from . import main

main()
