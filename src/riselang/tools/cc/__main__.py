"""`python -m riselang.tools.cc`: the command `rise cc`."""

import sys

from riselang.tools.cc.driver import run_driver

run_driver(sys.argv[1:])
