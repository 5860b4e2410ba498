"""status.py N COMMAND ..: runs the command; succeeds when its exit status is N. What it prints is passed on."""

import subprocess
import sys

status = subprocess.call(sys.argv[2:])
if status != int(sys.argv[1]):
    sys.exit(f"exit status {status}, not {sys.argv[1]}")
