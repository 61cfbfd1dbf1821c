"""How long something took, whatever else the machine has to do."""

import time


class Stopwatch:
    """Counts from when it is made."""

    def __init__(self):
        self.begun, self.worked = time.monotonic(), time.process_time()

    def seconds(self):
        """Seconds by the clock, or that this process computed where these are fewer."""
        return min(time.monotonic() - self.begun, time.process_time() - self.worked)
