"""One way to measure for all: the time of a call, made by one thread or by many at once."""

import json
import sys
import threading
import time
from collections.abc import Callable


def measure(once: Callable[[], object], turns: int, threads: int = 1) -> None:
    """Calls ``once`` ``turns`` times, shared out among the threads, after each called it once
    without counting. Prints the time that a call took, and the processor's, in nanoseconds."""
    begin = threading.Barrier(threads + 1)
    end = threading.Barrier(threads + 1)

    def work() -> None:
        try:
            once()
            begin.wait()
            for _ in range(turns // threads):
                once()
            end.wait()
        except BaseException:
            begin.abort()
            end.abort()
            raise

    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    begin.wait()
    start, cpu = time.perf_counter_ns(), time.process_time_ns()
    end.wait()
    calls = turns // threads * threads
    wall, cpu = time.perf_counter_ns() - start, time.process_time_ns() - cpu
    json.dump({"time": wall / calls, "cpu": cpu / calls}, sys.stdout)
