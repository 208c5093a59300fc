"""The first process of a container: takes one job from the engine and sees it through.

It is root with few capabilities and never runs foreign code itself. When the engine goes away, the end
of its standard input ends the container.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

from . import debug, evaluate, frames, laying, prepare, processes

TASKS = {"evaluate": evaluate.evaluate, "prepare": prepare.prepare, "debug": debug.debug}


def main() -> None:
    """Take the job, do it, end."""
    # Descriptors 0 and 1 become harmless: only the launcher has the stream to the engine.
    channel = frames.Channel(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    processes.adopt_orphans()
    try:
        kind, payload = channel.receive()
        assert kind == frames.JOB, kind
        job = json.loads(payload)
        TASKS[job["task"]](channel, job)
    except EOFError:
        processes.kill_others()
        os._exit(91)
    except laying.Unprepared as missing:
        channel.send_json(frames.RESULT, {"unprepared": str(missing)})
        os._exit(92)
    except Exception as error:  # noqa: BLE001 - the engine must learn of it, whatever it is
        traceback.print_exc()
        channel.send_json(frames.RESULT, {"error": "%s: %s" % (type(error).__name__, error)})
        os._exit(70)
    sys.stderr.flush()
    os._exit(0)
