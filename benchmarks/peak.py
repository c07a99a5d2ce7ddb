"""Peak anonymous memory of a piece of work, in a process of its own."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys, threading, time
import skstretch
from {module} import {name} as work

def anonymous():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon"))

def watch():
    while not done.is_set():
        peak.append(max(peak[-1], anonymous()))
        time.sleep(0.01)

arguments = json.loads(sys.argv[1])
peak, done, base = [0], threading.Event(), anonymous()
thread = threading.Thread(target=watch)
thread.start()
try:
    result = work(*arguments)
finally:
    done.set()
    thread.join()
print(json.dumps({{"result": result, "peak": max(peak) - base}}))
"""


def with_peak(module: str, name: str, *arguments: object) -> tuple[object, int]:
    """``(result, bytes)`` of a function of a module; the result must be JSON.

    The pages of memory maps are not counted, nor is what importing skstretch takes.
    """
    code = PROGRAM.format(module=module, name=name)
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)], stdout=subprocess.PIPE, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return found["result"], int(found["peak"])
