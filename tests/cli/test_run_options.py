"""The table of options is all there is: what `tithe train` takes is in it, or belongs to one process and not to the run."""

import os
import re
import subprocess

from support import check, finish

tithe = os.environ["TITHE"]
lister = os.path.join(os.environ["TITHE_BUILD"], "tests", "unit_learn_description")
# Where a process is and what it leaves behind. An option that shapes a run has no place here; of a trace that is replayed the contents are
# compared, not the name.
OF_A_PROCESS = {"transport", "local", "role", "listen", "connect", "deadline", "switch", "key", "replay", "trace", "report", "json", "help"}

page = subprocess.run([tithe, "train", "--help"], capture_output=True, text=True, check=True).stdout
taken = set(re.findall(r"^  --([a-z0-9-]+)", page, re.M))
table = subprocess.run([lister, "--names"], capture_output=True, text=True, check=True).stdout.split()

check(len(table) == len(set(table)) and len(table) > 40, f"each option is there once: {table}")
check(taken - set(table) == OF_A_PROCESS, f"in no table: {sorted(taken - set(table) - OF_A_PROCESS)}; not taken: {sorted(OF_A_PROCESS - taken)}")
check(set(table) <= taken, f"not on the command line: {sorted(set(table) - taken)}")
finish()
