"""Measures the time of a call, by one thread or by several, in the same way for all programs."""

import json
import sys
import threading
import time
from collections.abc import Callable


def measure(once: Callable[[], object], turns: int, threads: int = 1) -> None:
    """Calls ``once`` ``turns`` times, divided among the threads. Before that, each thread calls it
    once to warm up, which is not counted. Prints the wall-clock time and the processor time of a
    call, in nanoseconds."""
    # The main thread waits at the barriers too, so that it takes the time of all threads together.
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
            # Otherwise the main thread would wait for this thread for ever.
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
