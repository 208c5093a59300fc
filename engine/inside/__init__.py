"""What runs inside a container: standard library only, nothing of the engine.

The sandbox sends these modules over the wire and starts `launcher.main`, so any image with Python will
do. They keep to the syntax of Python 3.8. `MODULES` is the order in which they are loaded.
"""

MODULES = (
    *("job", "frames", "files", "filters", "identity", "processes", "evidence"),
    *("grader", "laying", "watch", "evaluate", "prepare", "debug", "launcher"),
)
