"""A run as JUnit XML, as Jenkins, GitLab and others read it: a suite for each evaluation.

What could not be judged is one case with an error, so that it turns a pipeline red as it should.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from engine.events import ResultLine
from engine.results import TestResult
from engine.views.run import Details, FinishedRun
from engine.views.text import one_line, shortened, visible

Element = ElementTree.Element

MOST_MESSAGE = 8_000
MOST_OUTPUT = 8_000

# What XML 1.0 cannot hold, however it is written.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: FinishedRun) -> bytes:
    """Render a run as JUnit XML."""
    return b"".join(parts(run))


def parts(run: FinishedRun) -> Iterator[bytes]:
    """Yield the document piece by piece; the sums of its head come last to be known, so it has none."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    head = Element("testsuites", name=xml_text(run.name or run.run_id), time=f"{run.duration:.3f}")
    yield (
        ElementTree.tostring(head, "utf-8", short_empty_elements=False).removesuffix(b"</testsuites>") + b"\n"
    )
    for number, line in enumerate(run.lines):
        suite = _suite(run, line, run.details(line))
        suite.set("id", str(number))
        ElementTree.indent(suite)
        yield ElementTree.tostring(suite, "utf-8") + b"\n"
    yield b"</testsuites>\n"


def xml_text(text: str) -> str:
    """Spell out characters that XML cannot hold or that people cannot see."""
    return _IMPOSSIBLE.sub("\ufffd", visible(text))


def _suite(run: FinishedRun, line: ResultLine, details: Details) -> Element:
    name = "/".join((line.problem_name, line.checkpoint_name, *line.labels.values()))
    suite = Element("testsuite", name=xml_text(name), hostname="scbench", time=f"{line.duration:.3f}")
    if run.started is not None:
        # The oldest schema knows no fractions and no zone.
        suite.set("timestamp", f"{run.started:%Y-%m-%dT%H:%M:%S}")
    _add_properties(suite, line)
    for test in details.tests:
        suite.append(_case(name, test))
    if line.broken is not None:
        suite.append(_broken_case(name, line))
    elif details.missing:
        case = ElementTree.SubElement(
            suite, "testcase", classname=xml_text(name), name="evaluation", time="0"
        )
        ElementTree.SubElement(case, "skipped", message=xml_text(details.missing))
    for tag, text in (("system-out", details.stdout), ("system-err", details.stderr)):
        if text.strip():
            ElementTree.SubElement(suite, tag).text = xml_text(shortened(text, MOST_OUTPUT))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _add_properties(suite: Element, line: ResultLine) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    known = {"id": line.id, "verdict": line.verdict.value, "policy": line.policy}
    labels = {f"label.{name}": value for name, value in line.labels.items()}
    for name, value in {**known, **labels}.items():
        ElementTree.SubElement(properties, "property", name=xml_text(name), value=xml_text(value))


def _case(suite: str, test: TestResult) -> Element:
    file = test.file_path.removesuffix(".py").replace("/", ".")
    case = Element(
        "testcase",
        classname=xml_text(f"{suite.replace('/', '.')}.{file}"),
        name=xml_text(test.id),
        time=f"{test.duration_ms / 1000:.3f}",
    )
    message = test.failure_message or ""
    match test.status:
        case "passed":
            pass
        case "skipped":
            ElementTree.SubElement(case, "skipped", message=xml_text(one_line(message)))
        case "failed" | "error":
            tag = "failure" if test.status == "failed" else "error"
            found = ElementTree.SubElement(
                case, tag, type=test.group_type.value, message=xml_text(one_line(_gist(message)))
            )
            found.text = xml_text(shortened(message, MOST_MESSAGE))
    return case


def _gist(message: str) -> str:
    """The line of a failure that says what is wrong."""
    errors = (line[1:] for line in message.splitlines() if line.startswith("E  "))
    return next(errors, message)


def _broken_case(suite: str, line: ResultLine) -> Element:
    case = Element("testcase", classname=xml_text(suite.replace("/", ".")), name="evaluation", time="0")
    if line.broken is not None:
        detail = line.broken.detail
        error = ElementTree.SubElement(
            case,
            "error",
            type=line.broken.kind.value,
            message=xml_text(f"{line.broken.kind}: {one_line(detail)}"),
        )
        error.text = xml_text(shortened(f"fault: {line.broken.fault}\n{detail}", MOST_MESSAGE))
    return case
